/**
 * Goal: whatever a source has is imported once, however often a run ends and begins again, and
 * nothing that was there is changed.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import { AckPolicy, DeliverPolicy } from "nats";

import type { ClickHouseReader } from "../../shared/clicks/query.ts";
import type { Click } from "../../shared/contracts/click-record.ts";
import { decodeSegment, formatSegmentId } from "../../shared/contracts/click-segment.ts";
import { parseImportedVisit } from "../../shared/contracts/imported-visit.ts";
import {
  CLICKS_STREAM,
  CLICKS_WORKER,
  ensureClicksStream,
} from "../../shared/contracts/streams.ts";
import { newUuid, type Uuid } from "../../shared/ids.ts";
import { forFile } from "../../test/harness/for-file.ts";
import { startNats } from "../../test/harness/nats.ts";
import { startPostgres } from "../../test/harness/postgres.ts";
import { DomainService } from "../domains/service.ts";
import { LinkImports } from "../links/import-links.ts";
import { LinkPreparation } from "../links/prepare-link.ts";
import { PasswordHashing } from "../passwords/hashing.ts";
import { SegmentPublisher } from "./clicks.ts";
import { ImportCounters } from "./counters.ts";
import { type ImportObserver, ImportRun, type LinkReport } from "./pipeline.ts";
import { type ImportRow, ImportService } from "./service.ts";
import type { Cursor, Page, Source, SourceLink, SourceVisits } from "./source.ts";

const BYTES_MAX = 256 * 1024 ** 2;
const DAY_MS = 86_400_000;
const BEGIN = Date.UTC(2024, 10, 20, 23, 30);

const RULES = {
  allowPrivate: false,
  shortUrl: new URL("https://sho.rt"),
  ownHosts: new Set(["sho.rt"]),
};

/** There is no ClickHouse: the scenario `import-history` has one. */
const NO_CLICKS: ClickHouseReader = {
  query: () => Promise.resolve({ json: () => Promise.resolve([]) }),
};

const postgres = await forFile(startPostgres());
const nats = await forFile(startNats());

/** Stores each segment once, as the worker does. */
class Worker {
  readonly segments = new Map<string, Click[]>();
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;

  async start(): Promise<this> {
    const connection = await nats.connect();
    const manager = await connection.jetstreamManager();
    await ensureClicksStream(manager, BYTES_MAX, 1);
    await manager.consumers.add(CLICKS_STREAM, {
      durable_name: CLICKS_WORKER,
      ack_policy: AckPolicy.Explicit,
      deliver_policy: DeliverPolicy.All,
    });
    const consumer = await connection.jetstream().consumers.get(CLICKS_STREAM, CLICKS_WORKER);
    this.#running = (async () => {
      while (!this.#stopping.signal.aborted) {
        for await (const message of await consumer.fetch({ max_messages: 10, expires: 1_000 })) {
          const segment = decodeSegment(Buffer.from(message.data));
          if (segment === undefined) throw new Error("It is no segment.");
          const id = formatSegmentId(segment);
          if (!this.segments.has(id)) this.segments.set(id, segment.clicks);
          await message.ackAck();
        }
      }
      await connection.close();
    })();
    return this;
  }

  /** The clicks of an import. */
  clicksOf(id: Uuid): Click[] {
    return [...this.segments].flatMap(([name, clicks]) => (name.startsWith(id) ? clicks : []));
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }
}

/** Links and visits in pages; ends a run at a page, as a crash would. */
class MemorySource implements Source {
  readonly #links: readonly SourceLink[];
  readonly #visits: readonly SourceVisits[];
  readonly #pageSize: number;
  readonly #failsAt: number;
  #pages = 0;

  constructor(
    links: readonly SourceLink[],
    visits: readonly SourceVisits[],
    { pageSize = 7, failsAt = Infinity } = {},
  ) {
    [this.#links, this.#visits] = [links, visits];
    [this.#pageSize, this.#failsAt] = [pageSize, failsAt];
  }

  links(after: Cursor | null): Promise<Page<SourceLink>> {
    return this.#page(this.#links, after);
  }

  visits(after: Cursor | null): Promise<Page<SourceVisits>> {
    return this.#page(this.#visits, after);
  }

  async #page<Row>(rows: readonly Row[], after: Cursor | null): Promise<Page<Row>> {
    if (this.#pages++ === this.#failsAt) throw new Error("The source has gone.");
    const from = Number(after?.["at"] ?? 0);
    const end = from + this.#pageSize;
    return { rows: rows.slice(from, end), next: end < rows.length ? { at: end } : null };
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

class Reports implements ImportObserver {
  readonly links: LinkReport[] = [];

  noteLinks(reports: readonly LinkReport[]): void {
    this.links.push(...reports);
  }

  noteProgress(): void {}
}

const link = (n: number, change: Partial<SourceLink> = {}): SourceLink => ({
  id: `id-${n}`,
  domain: null,
  alias: `imported-${n}`,
  url: `https://example.com/${n}`,
  ...change,
});

const visit = (n: number, minutes: number, change: Partial<SourceVisits> = {}): SourceVisits => ({
  linkId: `id-${n}`,
  at: new Date(BEGIN + minutes * 60_000),
  daily: false,
  count: 1,
  address: "192.0.2.1",
  userAgent: "Mozilla/5.0",
  ...change,
});

const noRecords = () => Promise.resolve([]);

function openLinks(): LinkImports {
  const { sql } = postgres;
  const publisher = { publish: () => Promise.resolve(false) };
  const domains = new DomainService(sql, publisher, noRecords, RULES.ownHosts, (url) =>
    Promise.resolve(url),
  );
  return new LinkImports(sql, new LinkPreparation(domains, RULES, new PasswordHashing()), RULES);
}

const begin = async (accountId: Uuid): Promise<ImportRow> =>
  await new ImportService(postgres.sql).begin({ accountId, mode: "live" }, "memory", "memory", {});

/** Runs what is left of an import. */
async function run(row: ImportRow, source: Source, reports = new Reports()): Promise<ImportRow> {
  const connection = await nats.connect();
  const { signal } = new AbortController();
  try {
    const publisher = new SegmentPublisher(connection, signal);
    const counters = new ImportCounters(postgres.sql, NO_CLICKS);
    const importing = new ImportRun(postgres.sql, openLinks(), publisher, counters, reports);
    return await importing.run(row, source, signal);
  } finally {
    await connection.close();
  }
}

/** Checks the import of the source that {@link begin} names. */
async function check(accountId: Uuid, links: readonly SourceLink[]) {
  const connection = await nats.connect();
  const { signal } = new AbortController();
  const scope = { accountId, mode: "live" as const };
  const row = await new ImportService(postgres.sql).preview(scope, "memory", "memory", {});
  const reports = new Reports();
  const publisher = new SegmentPublisher(connection, signal);
  const counters = new ImportCounters(postgres.sql, NO_CLICKS);
  const checking = new ImportRun(postgres.sql, openLinks(), publisher, counters, reports);
  await checking.check(row, new MemorySource(links, []), signal);
  await connection.close();
  return { row, links: reports.links };
}

/** Clicks by the id of their link and by UTC day. */
function countClicks(clicks: readonly Click[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { linkId, time } of clicks) {
    const key = `${linkId} ${Math.floor(time / DAY_MS)}`;
    counts[key] = (counts[key] ?? 0) + 1;
  }
  return counts;
}

const linksOf = (accountId: Uuid) =>
  postgres.sql`select * from links where account_id = ${accountId} order by alias`;

describe("an import", () => {
  let worker: Worker;
  beforeAll(async () => void (worker = await new Worker().start()));
  afterAll(async () => await worker.stop());

  test("creates what is new, and says what is there, taken and refused", async () => {
    const writer = await postgres.addWriter();
    const stranger = await postgres.addWriter();
    const create = async (owner: typeof writer, alias: string, url: string) =>
      (await postgres.links.create(owner, newUuid(), { url, alias })).link.id;
    const own = await create(writer, "here", "https://example.com/here");
    await create(stranger, "theirs", "https://example.com/theirs");
    const before = [await linksOf(writer.accountId), await linksOf(stranger.accountId)];
    const createdAt = new Date("2019-02-03T04:05:06Z");
    const links = [
      link(1, {
        alias: "new",
        title: "Two\nlines \u202b\u05d0\u202c\u200f",
        tags: ["old"],
        createdAt,
      }),
      link(2, { alias: "here", url: "https://example.com/here" }),
      link(3, { alias: "theirs", url: "https://example.com/theirs" }),
      link(4, { alias: "local", url: "http://127.0.0.1/" }),
      link(5, { alias: "new", url: "https://example.com/other" }),
      link(6, { alias: "deleted", refused: "It was deleted." }),
    ];
    const visits = [visit(1, 0), visit(2, 1), visit(3, 2), visit(4, 3), visit(1, NaN)];
    const row = await begin(writer.accountId);
    const reports = new Reports();
    const done = await run(row, new MemorySource(links, visits), reports);

    expect(reports.links.map(({ outcome }) => outcome.outcome)).toEqual([
      "new",
      "same",
      "taken",
      "refused",
      "taken",
      "refused",
    ]);
    expect(reports.links[5]?.outcome).toEqual({ outcome: "refused", reason: "It was deleted." });
    const counts = { created: 1, same: 1, taken: 2, refused: 2, visits: 2, left_out: 3 };
    expect(done).toMatchObject({ state: "done", ...counts });
    const [created, ...others] = (await linksOf(writer.accountId)).toReversed();
    expect(created).toMatchObject({
      alias: "new",
      title: "Two lines \u05d0",
      tags: ["old"],
      created_at: createdAt,
    });
    expect([others, await linksOf(stranger.accountId)]).toEqual(before.map((rows) => [...rows]));
    const clicks = worker.clicksOf(row.id);
    expect(clicks.map(({ linkId }) => linkId)).toEqual([created?.["id"], own]);
    expect(clicks[0]).toMatchObject({ imported: true, host: "sho.rt", time: BEGIN });
    expect(parseImportedVisit(clicks[0]?.query ?? "").import).toBe(row.number);
    const [quota] = await postgres.sql`
      select used from quota_windows where account_id = ${writer.accountId} and quota = 'links_per_day'`;
    expect(quota).toEqual({ used: 1 });
  });

  test("is the same wherever runs of it ended, and changes nothing when it is repeated", async () => {
    const links = Array.from({ length: 30 }, (_, n) => link(n, { alias: `ends-${n}` }));
    const visits = Array.from({ length: 60 }, (_, n) => visit(n % 30, n * 700));
    const { accountId } = await postgres.addWriter();
    const row = await begin(accountId);
    let runs = 0;
    for (let failsAt = 1; runs < 100; runs++, failsAt = 1 + (runs % 3)) {
      const ended = await run(row, new MemorySource(links, visits, { failsAt })).catch(
        () => undefined,
      );
      if (ended !== undefined) break;
    }
    expect(runs).toBeGreaterThan(5);
    const done = await run(row, new MemorySource([], []));
    expect(done).toMatchObject({ state: "done", created: 30, visits: 60, left_out: 0 });
    const stored = await linksOf(accountId);
    expect(stored).toHaveLength(30);
    expect(worker.clicksOf(row.id)).toHaveLength(60);
    expect(await begin(accountId)).toMatchObject({ id: row.id });
    expect(await linksOf(accountId)).toEqual(stored);
  });

  test("publishes a page again as it was, with what its source has got since after it", async () => {
    const links = [link(1, { alias: "grows" })];
    const { accountId } = await postgres.addWriter();
    const row = await begin(accountId);
    const visits = Array.from({ length: 5 }, (_, n) => visit(1, n));
    await run(row, new MemorySource(links, visits));
    // As if the run had been killed after it published, and before it recorded that.
    await postgres.sql`
      update imports set state = 'visits', page_end = null, segments = 0, publishing = '{5}', visits = 0
       where id = ${row.id}`;
    await run(row, new MemorySource(links, [...visits, visit(1, 6)]));
    const times = worker.clicksOf(row.id).map(({ time }) => (time - BEGIN) / 60_000);
    expect(times).toEqual([0, 1, 2, 3, 4, 6]);
  });

  test("makes as many clicks of a day as its source counts, in segments of one month each", async () => {
    const links = [link(1, { alias: "days" })];
    const { accountId } = await postgres.addWriter();
    const row = await begin(accountId);
    const days = [0, 20].map((day) =>
      visit(1, day * 24 * 60, { daily: true, count: 2_500, userAgent: "x".repeat(400) }),
    );
    await run(row, new MemorySource(links, days));
    const clicks = worker.clicksOf(row.id);
    expect(Object.values(countClicks(clicks))).toEqual([2_500, 2_500]);
    expect(parseImportedVisit(clicks[0]?.query ?? "").isVisit).toBe(false);
    for (const [id, { length }] of worker.segments)
      if (id.startsWith(row.id)) expect(length).toBeLessThanOrEqual(2_000);
    const months = [...worker.segments].flatMap(([id, own]) =>
      id.startsWith(row.id) ? [new Set(own.map(({ time }) => new Date(time).getUTCMonth()))] : [],
    );
    for (const { size } of months) expect(size).toBe(1);
  });

  test("leaves paths to the account whose link forwards them", async () => {
    const [first, second] = [await postgres.addWriter(), await postgres.addWriter()];
    const settings = { forward_path: "append" };
    const forwarding = [link(1, { alias: "forwarding", settings })];
    const { created } = await run(await begin(first.accountId), new MemorySource(forwarding, []));
    expect(created).toBe(1);
    const reports = new Reports();
    const links = ["forwarding/a", "not-forwarding/b"].map((alias, i) => link(i, { alias }));
    const done = await run(await begin(second.accountId), new MemorySource(links, []), reports);
    expect(done).toMatchObject({ state: "done", created: 1, taken: 1 });
    expect(reports.links.map(({ outcome }) => outcome.outcome)).toEqual(["taken", "new"]);
  });

  test.each([9e15, Number.NaN, -1])(
    "ends where its source says that a link had %p visits on a day",
    async (count) => {
      const { accountId } = await postgres.addWriter();
      const row = await begin(accountId);
      const source = new MemorySource(
        [link(1, { alias: `many-${count}` })],
        [visit(1, 0, { count })],
      );
      const error = await run(row, source).catch((thrown: unknown) => thrown);
      expect(String(error)).toContain(`had ${count} visits`);
      expect(worker.clicksOf(row.id)).toEqual([]);
    },
  );

  test("that is only checked says the same, and changes nothing", async () => {
    const { accountId } = await postgres.addWriter();
    const links = [link(1, { alias: "checked" }), link(2, { alias: "checked/no/", url: "no" })];
    const reports = await check(accountId, links);
    expect(reports.links.map(({ outcome }) => outcome.outcome)).toEqual(["new", "refused"]);
    expect(reports.row).toMatchObject({ created: 1, same: 0, refused: 1 });
    expect(await linksOf(accountId)).toHaveLength(0);
  });

  test("that was begun is checked as it goes on, and does nothing once it has its links", async () => {
    const { accountId } = await postgres.addWriter();
    const links = Array.from({ length: 10 }, (_, n) => link(n, { alias: `begun-${n}` }));
    const row = await begin(accountId);
    const ended = run(row, new MemorySource(links, [], { pageSize: 2, failsAt: 4 }));
    expect(await ended.catch(String)).toContain("has gone");
    expect(await linksOf(accountId)).not.toHaveLength(0);
    expect((await check(accountId, links)).row).toMatchObject({ created: 10, same: 0 });
    await run(row, new MemorySource(links, []));
    await postgres.sql`delete from links where account_id = ${accountId} and alias = 'begun-1'`;
    const again = await check(accountId, links);
    expect(again.row).toEqual(await run(row, new MemorySource(links, [])));
    expect(again.row).toMatchObject({ state: "done", created: 10, same: 0 });
    expect(again.links).toEqual([]);
    expect(await linksOf(accountId)).toHaveLength(9);
  });

  test("of a source that does not advance ends, and so does one of another process", async () => {
    const { accountId } = await postgres.addWriter();
    const row = await begin(accountId);
    const stuck = new MemorySource([], []);
    stuck.links = () => Promise.resolve({ rows: [], next: { at: 1 } });
    expect(await run(row, stuck).catch(String)).toContain("does not advance");
    const waiting = new MemorySource([], []);
    const reading = Promise.withResolvers<Page<SourceLink>>();
    const begun = Promise.withResolvers<void>();
    waiting.links = () => {
      begun.resolve();
      return reading.promise;
    };
    const first = run(row, waiting);
    await begun.promise;
    expect(await run(row, new MemorySource([], [])).catch(String)).toContain("Another process");
    reading.resolve({ rows: [], next: null });
    expect(await first).toMatchObject({ state: "done" });
  });

  test("beside another account's of the same aliases gets those that are free, and visits of no others", async () => {
    const count = 200;
    const links = Array.from({ length: count }, (_, n) => link(n, { alias: `both-${n}` }));
    const visits = links.map((_, n) => visit(n, n));
    const rows = await Promise.all(
      [1, 2].map(async () => await begin((await postgres.addWriter()).accountId)),
    );
    const done = await Promise.all(
      rows.map((row) => run(row, new MemorySource(links, visits, { pageSize: 20 }))),
    );
    expect(done.map(({ created, taken }) => created + taken)).toEqual([count, count]);
    expect(done.reduce((sum, { created }) => sum + created, 0)).toBe(count);
    for (const { id, account_id, created, visits: imported, left_out } of done) {
      const own = await linksOf(account_id);
      expect([own.length, imported, left_out]).toEqual([created, created, count - created]);
      const clicked = worker.clicksOf(id).map(({ linkId }) => linkId);
      expect(clicked.toSorted()).toEqual(own.map((row) => String(row["id"])).toSorted());
    }
  });

  describe("onto a domain", () => {
    const COUNT = 300;

    const linksOn = (host: string) =>
      Array.from({ length: COUNT }, (_, n) => link(n, { alias: `Race-${n}`, domain: host }));

    test("whose case is switched meanwhile has all links, as the domain is in the end", async () => {
      const { accountId } = await postgres.addWriter();
      const { id, host } = await postgres.addDomain(accountId);
      let switches = 0;
      let isRunning = true;
      const switching = (async () => {
        while (isRunning) {
          await postgres.sql.begin(async (transaction) => {
            await transaction`select from domains where id = ${id} for update`;
            await transaction`
              update links set folded = not coalesce(folded, false) where domain_id = ${id}`;
            await transaction`
              update domains set case_sensitive = not case_sensitive where id = ${id}`;
          });
          switches++;
          // Leaves the import the time of some pages.
          await Bun.sleep(100);
        }
      })();
      const done = await run(await begin(accountId), new MemorySource(linksOn(host), []));
      isRunning = false;
      await switching;
      expect(done).toMatchObject({ state: "done", created: COUNT, refused: 0 });
      expect(switches).toBeGreaterThan(1);
      const [domain] = await postgres.sql`select case_sensitive from domains where id = ${id}`;
      const folded = new Set((await linksOf(accountId)).map((row) => row["folded"] === true));
      expect([...folded]).toEqual([domain?.["case_sensitive"] === false]);
    });

    test("that is lost meanwhile refuses the other links, and ends", async () => {
      const { accountId } = await postgres.addWriter();
      const { id, host } = await postgres.addDomain(accountId);
      const source = new MemorySource(linksOn(host), []);
      const reports = new Reports();
      reports.noteLinks = (some) => {
        if (reports.links.length === 0)
          void postgres.sql`update domains set verified_at = null where id = ${id}`.execute();
        reports.links.push(...some);
      };
      const { created, refused, state } = await run(await begin(accountId), source, reports);
      expect([state, created + refused]).toEqual(["done", COUNT]);
      expect(refused).toBeGreaterThan(0);
      expect(await linksOf(accountId)).toHaveLength(created);
      const last = reports.links.at(-1)?.outcome;
      expect(last).toMatchObject({ outcome: "refused" });
      expect(last).toHaveProperty("reason", expect.stringContaining("verified domain"));
    });
  });
});
