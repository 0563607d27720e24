/**
 * Links that are changed one after the other and followed all the time on every redirector, while
 * something is wrong. Each change leads to a higher number, so that an older state is seen: no link
 * that exists may be 404, and none may lead back.
 */
import type postgres from "postgres";
import * as z from "zod";

import { BULK_LINKS_MAX } from "../../shared/contracts/link-schemas.ts";
import { decodeId } from "../../shared/ids.ts";
import { admin, createAccount, UNLIMITED } from "./admin.ts";
import { call, callOnce, linkSchema } from "./api.ts";
import { eventually } from "./eventually.ts";
import { inParallel } from "./in-parallel.ts";
import { seedLinks } from "./links-seed.ts";
import { readWarnings } from "./services.ts";
import type { Stack } from "./stack.ts";

/** A redirector under a name that it keeps when it is started again. */
export type Host = { name: string; url: string; metricsUrl: string };

/** Pauses between two changes, and between two requests of those who follow a redirector. */
const CHANGE_PAUSE_MS = 30;
const FOLLOW_PAUSE_MS = 5;

/** Links that are changed with a request while some hundred a second are. */
const CHANGED_AT_ONCE = 40;

/** How long those who follow wait for a redirector that is paused or away. */
const RESPONSE_MS = 2_000;

/** Requests of a check at a time, and how many wrong links it names. */
const AT_ONCE = 25;
const WRONG_MAX = 5;

/** Links that are never changed are followed as well: this part of all. */
const CHANGED_PART = 0.5;

/** Links that are deleted at a time. */
const DELETED = 20;

/** Of the links beside those that are followed, how many each check asks for, others each time. */
const OTHERS_CHECKED = 500;
const OTHERS_KNOWN_MAX = 20_000;

/** Characters of a destination that takes room. */
const LONG_URL = 2_000;

/** A host whose links are taken down, and put back. */
const TAKEN_HOST = "taken.example";
const TAKEDOWN_MS = 10_000;

const ABOUT_LINKS = /link/;

type Link = { id: string; alias: string };

/** A link that nobody changes, beside those that are followed. */
type OtherLink = { alias: string; url: string };

/** A deletion has a number as well: what comes back after it is older. */
type Seen = {
  number: number;
  mayGoBack: boolean;
  /** The newest answers that differed, with their times, for whoever looks for the cause. */
  answers: string[];
};

/** How many answers of an alias are kept. */
const ANSWERS_KEPT = 8;

const noteAnswer = (seen: Seen, answer: string | number): void => {
  seen.answers = [...seen.answers, `${new Date().toISOString()} ${answer}`].slice(-ANSWERS_KEPT);
};

const bulkSchema = z.object({ data: z.array(z.object({ link: linkSchema })) });

/** What a visitor gets of an alias without a link. */
const GONE = "404";

const numberIn = (location: string | null): number => Number(location?.split("/").at(-1));

export class FollowedLinks {
  readonly #stack: Stack;
  readonly #key: string;
  readonly #links: Link[];
  readonly #taken: string;
  readonly #others: readonly OtherLink[];
  /** The numbers of acknowledged changes and of deletions, by alias. */
  #acknowledged = new Map<string, number>();
  #deleted = new Map<string, number>();
  /** Links whose deletion PostgreSQL has lost. */
  readonly #undeleted = new Set<string>();
  /** Acknowledged changes of all time. */
  #acknowledgedCount = 0;
  readonly #seen = new Map<string, Seen>();
  /** Whether PostgreSQL went back since those who follow began. */
  #wentBack = false;
  #numbers = 0;
  #paused: Promise<unknown> = Promise.resolve();
  #names: readonly string[] = [];
  #following = false;
  #changing = false;
  /** Links that are changed with a request. */
  #atOnce = 1;
  #running: Promise<void>[] = [];
  #problems: string[] = [];
  #api: Pick<Host, "url" | "metricsUrl"> | undefined;

  /** Answers 503: for links, and for aliases of which a host that lacks changes cannot know. */
  unavailable = 0;
  undecided = 0;
  #othersChecked = 0;

  private constructor(
    stack: Stack,
    key: string,
    links: { followed: Link[]; taken: string; others: readonly OtherLink[] },
  ) {
    this.#stack = stack;
    this.#key = key;
    this.#links = links.followed;
    this.#taken = links.taken;
    this.#others = links.others;
  }

  /**
   * Creates links that are followed, and so many others, of which redirectors learn by the next
   * snapshot.
   */
  static async create(
    stack: Stack,
    sql: postgres.Sql,
    { count, others }: { count: number; others: number },
  ): Promise<FollowedLinks> {
    const { id } = await createAccount(stack, "enterprise");
    const accountId = decodeId("acct", id) ?? "";
    await seedLinks(sql, accountId, others);
    const known = await sql<OtherLink[]>`
      select alias, target_url as url from links
       where account_id = ${accountId} order by hashtextextended(alias, 1) limit ${OTHERS_KNOWN_MAX}`;
    const { key } = await createAccount(stack, "enterprise", UNLIMITED);
    const links: Link[] = [];
    const url = `${stack.info().api_url}/v1/links/bulk`;
    while (links.length < count) {
      const rows = Array.from({ length: Math.min(BULK_LINKS_MAX, count - links.length) }, () => ({
        url: "https://example.com/0",
      }));
      const { body } = await call(url, { key, body: { links: rows } });
      links.push(...bulkSchema.parse(body).data.map(({ link }) => link));
    }
    const body = { url: `https://${TAKEN_HOST}/` };
    const taken = await call(`${stack.info().api_url}/v1/links`, { key, body });
    const { alias } = linkSchema.parse(taken.body);
    return new FollowedLinks(stack, key, { followed: links, taken: alias, others: known });
  }

  /** Asks another API process than the stack's, until this is called without one. */
  useApi(api?: Pick<Host, "url" | "metricsUrl">): void {
    this.#api = api;
  }

  /** Begins to change links, and to follow all of them on hosts. */
  start(hosts: () => readonly Host[]): void {
    this.#following = true;
    this.#changing = true;
    this.#problems = [];
    this.#seen.clear();
    this.#undeleted.clear();
    this.#wentBack = false;
    this.unavailable = 0;
    this.undecided = 0;
    this.#names = hosts().map(({ name }) => name);
    const followers = this.#names.map((name) => this.#follow(hosts, name));
    this.#running = [this.#change(), ...followers];
  }

  /** Ends the changes; those who follow go on. */
  async stopChanging(): Promise<void> {
    this.#changing = false;
    await this.#running[0];
  }

  /** Ends everything; returns what must not have been seen. */
  async stop(): Promise<string[]> {
    this.#following = false;
    await this.stopChanging();
    await Promise.all(this.#running);
    return this.#problems;
  }

  /** Does something while no change is on its way. */
  without<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#paused.then(work);
    this.#paused = done.catch(() => undefined);
    return done;
  }

  /** Changes many links with each request while `work` runs; returns how many a second. */
  async changeFast(work: () => Promise<void>): Promise<number> {
    const [before, startedAt] = [this.#acknowledgedCount, performance.now()];
    this.#atOnce = CHANGED_AT_ONCE;
    try {
      await work();
    } finally {
      this.#atOnce = 1;
    }
    const seconds = (performance.now() - startedAt) / 1_000;
    return Math.round((this.#acknowledgedCount - before) / seconds);
  }

  /** The destination of a link that nobody changes, and of no other one. */
  get destination(): string {
    return this.#others.at(-1)?.url ?? "";
  }

  /**
   * Gives links long destinations, many at a time, until the API refuses to; returns the status,
   * undefined when it does not.
   */
  async changeUntilRefused(requestsMax: number): Promise<number | undefined> {
    for (let i = 0; i < requestsMax; i++) {
      const from = (i * BULK_LINKS_MAX) % this.#links.length;
      const links = this.#links.slice(from, from + BULK_LINKS_MAX);
      const status = await this.#changeMany(links, `${"x".repeat(LONG_URL)}/`);
      if (status !== 200) return status;
    }
    return undefined;
  }

  /** Deletes some links. */
  delete(count = DELETED): Promise<void> {
    return this.without(async () => {
      for (const { id, alias } of this.#links.slice(0, count)) {
        this.#deleted.set(alias, ++this.#numbers);
        const path = `${this.#apiUrl}/v1/links/${id}`;
        const { status } = await call(path, { key: this.#key, method: "DELETE" });
        if (status >= 300) throw new Error(`DELETE ${path}: ${status}`);
      }
      this.#links.push(...this.#links.splice(0, count));
    });
  }

  /**
   * Returns a function for when PostgreSQL comes back as it is now: each host may go back once, and
   * links that were deleted since come back. A host may not have learned of such a deletion.
   */
  remember(): () => void {
    const [acknowledged, deleted] = [new Map(this.#acknowledged), new Map(this.#deleted)];
    return () => {
      for (const alias of this.#deleted.keys()) if (!deleted.has(alias)) this.#undeleted.add(alias);
      for (const seen of this.#seen.values()) {
        seen.mayGoBack = true;
        noteAnswer(seen, "may go back");
      }
      this.#wentBack = true;
      this.#acknowledged = acknowledged;
      this.#deleted = deleted;
    };
  }

  /**
   * Waits until every host leads everywhere where PostgreSQL says, knows that an alias has no link,
   * and no process warns of anything about links.
   */
  async waitUntilRight(hosts: () => readonly Host[], withinMs: number): Promise<void> {
    const expected = await this.#readAnswers();
    expected.set("never-was-there", GONE);
    await eventually(async () => {
      for (const { url, metricsUrl } of hosts()) {
        await this.#expectAnswers(url, expected);
        await this.#expectNoWarning(metricsUrl);
      }
      await this.#expectNoWarning(this.#api?.metricsUrl ?? this.#stack.info().api_metrics_url);
    }, withinMs);
  }

  /** All hosts have what PostgreSQL has: from now on none may go back, or lack a link. */
  endGoingBack(): void {
    this.#seen.clear();
    this.#undeleted.clear();
    this.#wentBack = false;
  }

  /**
   * Reads where links lead, while no change is on its way. Returns a function that waits until a
   * redirector leads there, whether or not it can know that a link was deleted.
   */
  async readTargets(): Promise<(origin: string, withinMs: number) => Promise<void>> {
    const expected = [...(await this.#readAnswers())].filter(([, answer]) => answer !== GONE);
    return (origin, withinMs) => eventually(() => this.#expectAnswers(origin, expected), withinMs);
  }

  /** A takedown works on every host, while `meanwhile` runs, and ends after it. */
  async expectTakedown(
    hosts: () => readonly Host[],
    meanwhile: () => Promise<void> = () => Promise.resolve(),
  ): Promise<void> {
    await admin(this.#stack, ["links", "disable", "--host", TAKEN_HOST]);
    await this.#expectTaken(hosts, 451);
    await meanwhile();
    await this.#expectTaken(hosts, 451);
    await admin(this.#stack, ["links", "enable", "--host", TAKEN_HOST]);
    await this.#expectTaken(hosts, 302);
  }

  get #apiUrl(): string {
    return this.#api?.url ?? this.#stack.info().api_url;
  }

  #expectTaken(hosts: () => readonly Host[], expected: number): Promise<void> {
    return eventually(async () => {
      for (const { url } of hosts()) {
        const { status } = await callOnce(`${url}/${this.#taken}`);
        if (status !== expected) throw new Error(`${url}: ${status} instead of ${expected}`);
      }
    }, TAKEDOWN_MS);
  }

  async #change(): Promise<void> {
    const count = Math.floor(this.#links.length * CHANGED_PART);
    let next = 0;
    while (this.#changing) {
      const atOnce = this.#atOnce;
      const links = Array.from({ length: atOnce }, (_, i) => this.#links[(next + i) % count]);
      next += atOnce;
      await this.without(() => this.#changeMany(links.filter((link) => link !== undefined)));
      await Bun.sleep(CHANGE_PAUSE_MS);
    }
  }

  /**
   * Gives links other destinations, in a folder if it is given; returns the status. What gets no
   * response may have been carried out: PostgreSQL is asked in the end.
   */
  async #changeMany(some: readonly Link[], folder = ""): Promise<number | undefined> {
    const changed = some
      .filter(({ alias }) => !this.#deleted.has(alias))
      .map((link) => ({ ...link, number: ++this.#numbers }));
    const links = changed.map(({ id, number }) => ({
      id,
      url: `https://example.com/${folder}${number}`,
    }));
    const path = `${this.#apiUrl}/v1/links/bulk`;
    const options = { method: "PATCH", key: this.#key, body: { links } };
    const { status } = (await callOnce(path, options).catch(() => undefined)) ?? {};
    if (status === 200)
      for (const { alias, number } of changed) {
        this.#acknowledged.set(alias, number);
        this.#acknowledgedCount++;
      }
    return status;
  }

  async #follow(hosts: () => readonly Host[], name: string): Promise<void> {
    while (this.#following) {
      const link = this.#links[Math.floor(Math.random() * this.#links.length)];
      const host = hosts().find((one) => one.name === name);
      if (link !== undefined && host !== undefined) await this.#followOne(host, link.alias);
      await Bun.sleep(FOLLOW_PAUSE_MS);
    }
  }

  async #followOne({ name, url }: Host, alias: string): Promise<void> {
    // Of a deletion that is on its way, either answer is right.
    const deletion = this.#deleted.get(alias);
    const response = await fetch(`${url}/${alias}`, {
      redirect: "manual",
      keepalive: false,
      signal: AbortSignal.timeout(RESPONSE_MS),
    }).catch(() => undefined);
    if (response?.status === 503) {
      if (deletion === undefined && !this.#deleted.has(alias)) this.unavailable++;
      else this.undecided++;
    }
    if (response === undefined || ![302, 404].includes(response.status)) return;
    const key = `${name} ${alias}`;
    if (response.status === 302) return this.#note(key, numberIn(response.headers.get("location")));
    const gone = deletion ?? this.#deleted.get(alias);
    if (gone !== undefined) return this.#note(key, gone);
    const { mayGoBack } = this.#seen.get(key) ?? { mayGoBack: this.#wentBack };
    // Wherever it leads afterwards is older.
    if (mayGoBack && this.#undeleted.has(alias)) this.#note(key, Infinity);
    else this.#problems.push(`${name}: ${alias} is 404`);
  }

  #note(key: string, number: number): void {
    const first: Seen = { number: 0, mayGoBack: this.#wentBack, answers: [] };
    const seen = this.#seen.get(key) ?? first;
    this.#seen.set(key, seen);
    if (number !== seen.number) noteAnswer(seen, number);
    if (number < seen.number && !seen.mayGoBack)
      this.#problems.push(
        `${key} is at ${number} after ${seen.number}: ${seen.answers.join(", ")}`,
      );
    if (number < seen.number) seen.mayGoBack = false;
    seen.number = number;
  }

  /** What visitors must get of each alias, as the API says. Throws when it lost a link. */
  #readAnswers(): Promise<Map<string, string>> {
    return eventually(async () => {
      const answers = await inParallel(this.#links, AT_ONCE, async ({ id, alias }) => {
        const path = `${this.#apiUrl}/v1/links/${id}`;
        const { status, body } = await callOnce(path, { key: this.#key });
        if (status !== 200 && status !== 404) throw new Error(`${path}: ${status}`);
        if ((status === 404) !== this.#deleted.has(alias))
          throw new Error(`${alias} is lost, or came back after it was deleted.`);
        if (status === 404) return [alias, GONE] as const;
        const destination = linkSchema.parse(body).original_url;
        if (numberIn(destination) < (this.#acknowledged.get(alias) ?? 0))
          throw new Error(`A change of ${alias} is lost.`);
        return [alias, `302 ${destination}`] as const;
      });
      return new Map(answers);
    }, TAKEDOWN_MS);
  }

  /** Throws unless visitors get these answers, and some other links lead where they should. */
  async #expectAnswers(origin: string, expected: Iterable<[string, string]>): Promise<void> {
    const from = this.#othersChecked % Math.max(1, this.#others.length);
    this.#othersChecked += OTHERS_CHECKED;
    const others = this.#others
      .slice(from, from + OTHERS_CHECKED)
      .map(({ alias, url }): [string, string] => [alias, `302 ${url}`]);
    const found = await inParallel([...expected, ...others], AT_ONCE, async ([alias, wanted]) => {
      const { status, headers } = await callOnce(`${origin}/${alias}`);
      const answer = `${status} ${headers.get("location") ?? ""}`.trim();
      // One address may ask for so many aliases that no link has.
      const isRight = answer === wanted || (wanted === GONE && status === 429);
      return isRight ? undefined : `${alias}: ${answer} instead of ${wanted}`;
    });
    const wrong = found.filter((one) => one !== undefined);
    if (wrong.length > 0) throw new Error(`${origin}: ${wrong.slice(0, WRONG_MAX).join("; ")}`);
  }

  async #expectNoWarning(metricsUrl: string): Promise<void> {
    const found = Object.entries(await readWarnings(metricsUrl));
    const warning = found.find(([name]) => ABOUT_LINKS.test(name));
    if (warning !== undefined) throw new Error(`${metricsUrl}: ${warning.join(": ")}`);
  }
}
