/**
 * The links of a drill: many in PostgreSQL and on every host, and a sample of them of which it is
 * known where each leads. While something is broken the sample is followed all the time.
 */
import postgres from "postgres";

import { BULK_LINKS_MAX } from "../../shared/contracts/link-schemas.ts";
import { decodeId, encodeId, type Uuid } from "../../shared/ids.ts";
import { withTimeout } from "../../shared/timeout.ts";
import { createAccount } from "../harness/admin.ts";
import { call, callOnce } from "../harness/api.ts";
import { BULK_LIMITS } from "../harness/bulk-links.ts";
import { eventually } from "../harness/eventually.ts";
import { seedLinks } from "../harness/links-seed.ts";
import type { ExtraProcess } from "../harness/processes.ts";
import { readWarnings } from "../harness/services.ts";
import type { Stack } from "../harness/stack.ts";
import { CHANGE_PAUSE_MS, type Changes, startChanges } from "./changes.ts";

/** Links of the sample, and those of them that are changed or deleted at a time. */
const SAMPLE = 20_000;
const CHANGED = 300;
const DELETED = 20;

/**
 * Those who follow, of whom each has one redirector, and the pause of each between two requests.
 */
const FOLLOWERS = 4;
const PAUSE_MS = 10;

/** How long a redirector may take to answer those who follow; one that is paused takes a minute. */
const FOLLOW_MS = 5_000;

/** Answers that are wrong, after which a check gives up. */
const WRONG_MAX = 3;

/** Requests of a check at a time. */
const AT_ONCE = 50;

/** How long a redirector may take to lead everywhere where it should. */
const RIGHT_MS = 60_000;

type Link = { id: string; alias: string };

/** What followers of links were answered, of links that nobody changed meanwhile. */
export type Answers = {
  right: number;
  wrong: number;
  notFound: number;
  unavailable: number;
  /** 503 for an alias without a link: whoever lacks changes cannot know that there is none. */
  undecided: number;
};

export type Watch = {
  /** Ends it, and returns what was answered and what processes warned of. */
  stop(): Promise<{ answers: Answers; warnings: string[]; examples: string[] }>;
};

export type DrillLinks = Awaited<ReturnType<typeof openLinks>>;

/** Fills PostgreSQL with links. */
export async function openLinks(stack: Stack, count: number) {
  const { id, key } = await createAccount(stack, "enterprise", BULK_LIMITS);
  const accountId = decodeId("acct", id);
  if (accountId === undefined) throw new Error(`${id} is no account.`);
  const sql = postgres(stack.info().database_url, { max: 2, onnotice: () => undefined });
  await seedLinks(sql, accountId, count);
  const rows = await sql<{ id: Uuid; alias: string; url: string }[]>`
    select id, alias, target_url as url from links
     where account_id = ${accountId} order by hashtextextended(alias, 1) limit ${SAMPLE}`;
  const sample = rows.map(({ alias, id: uuid }): Link => ({ alias, id: encodeId("link", uuid) }));
  const expected = new Map(rows.map(({ alias, url }) => [alias, url]));
  /** Links that are gone, and stay so. */
  const deleted: string[] = [];
  /** Links that are being changed: they may lead to either destination. */
  const changing = new Set<string>();
  /**
   * Destinations of which it is not known whether links have them: their changes got no response.
   */
  const uncertain = new Map<string, string>();
  let changes = 0;

  async function change(): Promise<void> {
    const links = Array.from({ length: CHANGED }, () => sample[changes++ % sample.length]).filter(
      (link) => link !== undefined,
    );
    for (const { alias } of links) changing.add(alias);
    const body = links.map((link) => ({
      id: link.id,
      url: `https://changed.example/${changes}/${link.alias}`,
    }));
    for (let i = 0; i < body.length; i += BULK_LINKS_MAX)
      await send("PATCH", "/v1/links/bulk", { links: body.slice(i, i + BULK_LINKS_MAX) });
    for (const [i, { alias }] of links.entries()) expected.set(alias, body[i]?.url ?? "");
  }

  async function send(method: string, path: string, body?: unknown): Promise<void> {
    const response = await call(`${stack.info().api_url}${path}`, { method, key, body });
    if (response.status >= 300)
      throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(response.body)}`);
  }

  /** Gives one link another destination, until it is acknowledged or nobody waits for it. */
  async function changeOne(isStopped: () => boolean): Promise<boolean> {
    const link = sample[changes++ % sample.length];
    if (link === undefined) return false;
    const url = `https://changed.example/${changes}/${link.alias}`;
    changing.add(link.alias);
    while (!isStopped()) {
      const path = `${stack.info().api_url}/v1/links/${link.id}`;
      const response = await callOnce(path, { method: "PATCH", key, body: { url } }).catch(
        () => undefined,
      );
      if (response?.status === 200) {
        expected.set(link.alias, url);
        return true;
      }
      await Bun.sleep(CHANGE_PAUSE_MS);
    }
    // It may have been carried out.
    uncertain.set(link.alias, url);
    return false;
  }

  /** Follows a link; returns what is wrong, undefined if it leads where it should. */
  async function follow(origin: string, alias: string): Promise<string | undefined> {
    const { status, headers } = await callOnce(`${origin}/${alias}`);
    const found = `${status} ${headers.get("location") ?? ""}`.trim();
    const url = expected.get(alias);
    const wanted = url === undefined ? "404" : `302 ${url}`;
    return found === wanted ? undefined : `${alias}: ${found} instead of ${wanted}`;
  }

  /** Throws unless the whole sample leads where it should on a redirector. */
  async function expectRight(origin: string): Promise<void> {
    const aliases = [...expected.keys(), ...deleted];
    const wrong: string[] = [];
    for (let i = 0; i < aliases.length && wrong.length < WRONG_MAX; i += AT_ONCE) {
      const part = aliases.slice(i, i + AT_ONCE);
      const found = await Promise.all(part.map((alias) => follow(origin, alias)));
      wrong.push(...found.filter((what) => what !== undefined));
    }
    if (wrong.length > 0) throw new Error(`${origin}: ${wrong.slice(0, WRONG_MAX).join("; ")}`);
  }

  return {
    sql,
    key,
    /** Changes links all the time, some five a second while the API responds. */
    startChanges: (): Changes => startChanges(changeOne),
    /**
     * Changes links, many at a time, until the API refuses to; returns the status, undefined when
     * it does not.
     */
    async changeUntilRefused(requestsMax: number): Promise<number | undefined> {
      for (let i = 0; i < requestsMax; i++) {
        const links = Array.from(
          { length: BULK_LINKS_MAX },
          () => sample[changes++ % sample.length],
        ).filter((link) => link !== undefined);
        for (const { alias } of links) changing.add(alias);
        // Long, so that they take room.
        const body = links.map(({ id, alias }) => ({
          id,
          url: `https://changed.example/${"x".repeat(2_000)}/${alias}`,
        }));
        const path = `${stack.info().api_url}/v1/links/bulk`;
        const { status } = await callOnce(path, { method: "PATCH", key, body: { links: body } });
        for (const [place, { alias }] of links.entries())
          (status === 200 ? expected : uncertain).set(alias, body[place]?.url ?? "");
        if (status >= 300) return status;
      }
      return undefined;
    },
    /**
     * Returns a function that goes back to what links lead to now, as a PostgreSQL does that is
     * restored.
     */
    remember(): () => void {
      const then = new Map(expected);
      const [links, gone] = [[...sample], [...deleted]];
      return () => {
        expected.clear();
        for (const [alias, url] of then) expected.set(alias, url);
        sample.splice(0, sample.length, ...links);
        deleted.splice(0, deleted.length, ...gone);
        uncertain.clear();
      };
    },
    /** The destinations of some links of the sample. */
    destinations: (count: number): string[] => [...expected.values()].slice(-count),
    /** Throws unless PostgreSQL has every change that was acknowledged, and no other. */
    async expectStored(): Promise<void> {
      const stored = await sql<{ alias: string; url: string }[]>`
        select alias, target_url as url from links where account_id = ${accountId}`;
      const found = new Map(stored.map(({ alias, url }) => [alias, url]));
      for (const [alias, url] of uncertain) if (found.get(alias) === url) expected.set(alias, url);
      const wrong = [...expected].filter(([alias, url]) => found.get(alias) !== url);
      wrong.push(
        ...deleted
          .filter((alias) => found.has(alias))
          .map((alias): [string, string] => [alias, "deleted"]),
      );
      if (wrong.length === 0) return;
      const examples = wrong
        .slice(0, WRONG_MAX)
        .map(([alias, url]) => `${alias}: ${found.get(alias)} instead of ${url}`);
      throw new Error(
        `${wrong.length} links are not stored as acknowledged: ${examples.join("; ")}`,
      );
    },
    /**
     * Gives some links of the sample another destination; those who follow them meanwhile may be
     * led to either.
     */
    change,
    /** Deletes some links of the sample. */
    async delete(): Promise<void> {
      for (const { id: linkId, alias } of sample.splice(0, DELETED)) {
        changing.add(alias);
        await send("DELETE", `/v1/links/${linkId}`);
        expected.delete(alias);
        deleted.push(alias);
      }
    },
    /** Waits until the whole sample leads where it should on a redirector, whatever was changed. */
    waitUntilRight: (origin: string, withinMs = RIGHT_MS): Promise<void> =>
      eventually(() => expectRight(origin), withinMs),
    /** From now on everybody is led to the newest destinations. */
    settle: (): void => changing.clear(),
    /**
     * Follows links all the time on redirectors that answer, and reads the warnings of processes.
     */
    watch: (
      redirectors: () => readonly Pick<ExtraProcess, "url" | "metricsUrl">[],
      pauseMs = PAUSE_MS,
    ): Watch => {
      const answers: Answers = { right: 0, wrong: 0, notFound: 0, unavailable: 0, undecided: 0 };
      const warnings = new Set<string>();
      const examples: string[] = [];
      let stopped = false;

      async function followOne(origin: string): Promise<void> {
        const place = Math.floor(Math.random() * (sample.length + deleted.length));
        const alias = sample[place]?.alias ?? deleted[place - sample.length];
        if (alias === undefined || changing.has(alias)) return;
        const problem = await follow(origin, alias);
        // It was changed while the answer was on its way.
        if (changing.has(alias)) return;
        // One address may ask for so many aliases that no link has, and all requests here come from
        // one.
        if (problem?.endsWith(": 429 instead of 404")) return;
        const kind = problem === undefined ? "right" : kindOf(problem);
        answers[kind]++;
        if (problem !== undefined && kind !== "undecided" && examples.length < WRONG_MAX)
          examples.push(problem);
      }

      async function followAll(follower: number): Promise<void> {
        while (!stopped) {
          const { url } = redirectors()[follower % redirectors().length] ?? { url: "" };
          // One that is being restarted answers nobody.
          await withTimeout(followOne(url), FOLLOW_MS).catch(() => undefined);
          await Bun.sleep(pauseMs);
        }
      }

      async function readAll(): Promise<void> {
        while (!stopped) {
          const others = redirectors().map(({ metricsUrl }) => metricsUrl);
          for (const url of [stack.info().api_metrics_url, ...others]) {
            const found = await readWarnings(url).catch(() => ({}));
            for (const name of Object.keys(found)) warnings.add(name);
          }
          await Bun.sleep(500);
        }
      }

      const running = [...Array.from({ length: FOLLOWERS }, (_, i) => followAll(i)), readAll()];
      return {
        async stop() {
          stopped = true;
          await Promise.all(running);
          return { answers, warnings: [...warnings].toSorted(), examples };
        },
      };
    },
  };
}

/** The kind of a wrong answer, by what `follow` says of it. */
function kindOf(problem: string): Exclude<keyof Answers, "right"> {
  if (problem.includes(": 503"))
    return problem.endsWith(" instead of 404") ? "undecided" : "unavailable";
  return problem.includes(": 404") ? "notFound" : "wrong";
}
