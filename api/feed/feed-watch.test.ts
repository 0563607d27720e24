/**
 * Goal: whatever the stream LINKS and PostgreSQL come back as, the stream has every link of
 * PostgreSQL, and none beside them, and its heartbeat is true. Method: real PostgreSQL and NATS.
 */
import {
  afterAll,
  beforeAll,
  beforeEach,
  describe,
  expect,
  setDefaultTimeout,
  test,
} from "bun:test";

import {
  decodeHeartbeat,
  domainNotice,
  takedownNotice,
} from "../../shared/contracts/feed-notices.ts";
import {
  decodeLinkRecord,
  encodeLinkMessage,
  type LinkRecord,
} from "../../shared/contracts/link-record.ts";
import { UNDIVIDED } from "../../shared/contracts/links-streams.ts";
import {
  ensureLinksStream,
  HEARTBEAT_SUBJECT,
  LINKS_STREAM,
  linkSubject,
} from "../../shared/contracts/streams.ts";
import { newUuid } from "../../shared/ids.ts";
import { createLog } from "../../shared/log.ts";
import { eventually } from "../../test/harness/eventually.ts";
import { type FeedStores, keepFeed, startFeedStores } from "../../test/harness/links-feed.ts";
import { startPostgres } from "../../test/harness/postgres.ts";
import { longTest } from "../../test/harness/property-runs.ts";
import { checkFeed } from "../checks.ts";
import { isUnavailable } from "../postgres.ts";
import { changeTakedowns } from "../takedowns/service.ts";
import { startFeedWatches } from "./feed-watches.ts";
import { resyncLinks } from "./resync.ts";
import { recordIncomplete, recordPosition, selectFeed } from "./sql.ts";

setDefaultTimeout(120_000);

const WITHIN_MS = 15_000;

/** More than a batch of the filling. */
const LINKS = 1_100;

const log = createLog("test", "silent");

let stores: FeedStores;
beforeAll(async () => {
  stores = await startFeedStores();
  await stores.addLinks(LINKS);
});
afterAll(() => stores[Symbol.asyncDispose]());

const publish = (record: LinkRecord) =>
  stores.connection.jetstream().publish(linkSubject(record), encodeLinkMessage(record));

/** Publishes that so many links were deleted, under the lowest versions. */
const publishDeleted = (count: number) =>
  Promise.all(
    Array.from({ length: count }, (_, i) =>
      publish({ state: "deleted", version: i + 1, domain: "", alias: `link-${i + 1}` }),
    ),
  );

async function readRecord(domain: string, alias: string): Promise<LinkRecord | undefined> {
  const message = { last_by_subj: linkSubject({ domain, alias }) };
  return decodeLinkRecord((await stores.manager.streams.getMessage(LINKS_STREAM, message)).data);
}

async function readHeartbeat() {
  const message = { last_by_subj: HEARTBEAT_SUBJECT };
  return decodeHeartbeat((await stores.manager.streams.getMessage(LINKS_STREAM, message)).data);
}

/** Keeps the feed as an API process does. */
const startWatch = (sql = stores.sql) => keepFeed({ sql, connection: stores.connection });

/** Waits until the stream was filled since an epoch, and says so. */
const expectFilled = (after: number) =>
  eventually(async () => {
    const heartbeat = await readHeartbeat();
    expect(heartbeat).toMatchObject({ complete: true });
    expect(heartbeat?.epoch).toBeGreaterThan(after);
    return heartbeat?.epoch ?? 0;
  }, WITHIN_MS);

/** Waits until a heartbeat says that there are so many links. */
const expectLinks = (links: number) =>
  eventually(async () => expect(await readHeartbeat()).toMatchObject({ links }), WITHIN_MS);

/** Every link of PostgreSQL is in the stream, under one version or a later one. */
async function expectAllPublished(epoch: number): Promise<void> {
  const rows = await stores.sql<{ alias: string }[]>`select alias from links`;
  const records = await Promise.all(rows.map(({ alias }) => readRecord("", alias)));
  for (const record of records) {
    expect(record).toMatchObject({ state: "active" });
    expect(record?.version).toBeGreaterThanOrEqual(epoch);
  }
}

const epochOf = async () => (await selectFeed(stores.sql)).epoch ?? 0;

beforeEach(async () => {
  await stores.manager.streams.delete(LINKS_STREAM).catch(() => undefined);
  await stores.sql`delete from takedowns`;
});

describe("a stream", () => {
  test("that was never filled has every link under one version, lower than those to come", async () => {
    await stores.sql`delete from link_feed`;
    await stores.sql`insert into link_feed default values`;
    await ensureLinksStream(stores.manager, 1);
    // As processes published them that knew no epoch: hosts would remove links that are older than
    // one.
    await publishDeleted(LINKS);
    await using _ = startWatch();
    await expectAllPublished(await expectFilled(0));
  });

  test("of a new installation is complete at once, and nothing is published", async () => {
    await using fresh = await startPostgres();
    await using _ = startWatch(fresh.sql);
    await expectFilled(0);
    expect((await stores.manager.streams.info(LINKS_STREAM)).state.messages).toBe(1);
  });

  test("with links is left as it is by a database without any account, which says so", async () => {
    await ensureLinksStream(stores.manager, 1);
    await publishDeleted(3);
    await using empty = await startPostgres();
    await using api = startWatch(empty.sql);
    await eventually(
      async () => expect(api.watch.problem()).toContain("has no account"),
      WITHIN_MS,
    );
    expect(await checkFeed(empty.url).run()).toMatchObject({
      status: "failed",
      detail: expect.stringContaining("mount the disk of the right database"),
    });
    expect(await readRecord("", "link-2")).toMatchObject({ version: 2 });
    expect(await readHeartbeat()).toMatchObject({ complete: false });
    // A deliberate beginning.
    await empty.addAccount();
    await eventually(async () => expect(api.watch.problem()).toBeUndefined(), WITHIN_MS);
  });

  test("that is empty is filled, and what the database does not have is withdrawn", async () => {
    const before = await epochOf();
    await ensureLinksStream(stores.manager, 1);
    // As it came back from an old copy: of a link, a domain and takedowns that are no more.
    const link_id = newUuid();
    const { accountId: account_id } = stores.owner;
    const gone = { domain: "", alias: "gone", link_id, account_id, mode: "live" as const };
    await publish({
      ...gone,
      state: "active",
      version: 5,
      destination: "https://example.com/gone",
      expires_at: null,
      password_hash: null,
      forward_query: false,
    });
    await publish(domainNotice(6, "gone.example.com", { root_url: "https://example.com/" }));
    await publish(takedownNotice(7, { accounts: [], hosts: ["lifted.example"] }));
    await using api = startWatch();
    const epoch = await expectFilled(before);
    await expectAllPublished(epoch);
    expect(await readRecord("", "gone")).toMatchObject({ state: "deleted" });
    expect(await readRecord("gone.example.com", "@domain")).toMatchObject({ settings: {} });
    expect(await readRecord("", "@takedowns")).toMatchObject({ takedowns: { hosts: [] } });
    expect(api.watch.complete()).toBe(true);
    expect(api.watch.filledLinks()).toBe(LINKS);
    expect(await stores.sql`select from link_feed where incomplete_since is not null`).toEqual(
      [] as never,
    );
  });

  test("says that it is incomplete while it is being filled", async () => {
    await using first = startWatch();
    await eventually(async () => expect(first.watch.complete()).toBe(true), WITHIN_MS);
    const { sql } = stores;
    // A change that has locked its alias keeps the filling waiting.
    const released = Promise.withResolvers<void>();
    const locked = Promise.withResolvers<void>();
    const held = sql.begin(async (transaction) => {
      await transaction`select pg_advisory_xact_lock(hashtextextended('/link-1', 1))`;
      locked.resolve();
      await released.promise;
    });
    await locked.promise;
    await stores.manager.streams.delete(LINKS_STREAM);
    await eventually(
      async () => expect(await readHeartbeat()).toMatchObject({ complete: false }),
      WITHIN_MS,
    );
    expect(first.watch.problem()).toContain("lacks links");
    expect(await checkFeed(stores.url).run()).toMatchObject({
      status: "failed",
      detail: expect.stringContaining("LINKS lacks links"),
    });
    const before = await epochOf();
    released.resolve();
    await held;
    await expectFilled(before);
    await eventually(async () => expect(first.watch.problem()).toBeUndefined(), WITHIN_MS);
    expect(await checkFeed(stores.url).run()).toBeUndefined();
  });

  test("that is filled has changes that drew earlier versions, and later ones stay", async () => {
    await using _ = startWatch();
    const before = await expectFilled(await epochOf());
    const { sql } = stores;
    const released = Promise.withResolvers<void>();
    const drawn = Promise.withResolvers<void>();
    const early = sql.begin(async (transaction) => {
      await transaction`select pg_advisory_xact_lock(hashtextextended('/link-5', 1))`;
      await transaction`
        update links set target_url = 'https://example.com/early', version = next_link_version()
         where alias = 'link-5'`;
      drawn.resolve();
      await released.promise;
    });
    await drawn.promise;
    const resynced = resyncLinks(sql, () => undefined);
    await eventually(async () => {
      // The filling waits for the first one.
      expect(
        await sql`
          select from pg_stat_activity
           where datname = current_database() and query like '%virtualxid%' and query not like '%pg_stat_activity%' and xact_start is not null`,
      ).not.toEqual([] as never);
    }, WITHIN_MS);
    // Published by another process, under a later version than the epoch of the filling that waits.
    const late = await sql.begin(async (transaction) => {
      const [row] = await transaction<[{ version: number }]>`
        select next_link_version()::float8 as version`;
      return row.version;
    });
    const later = await readRecord("", "link-6");
    if (later?.state !== "active") throw new Error("link-6 is no link.");
    await publish({ ...later, version: late, destination: "https://example.com/late" });
    released.resolve();
    await Promise.all([early, resynced]);
    expect(await epochOf()).toBeGreaterThan(before);
    expect(await readRecord("", "link-5")).toMatchObject({
      destination: "https://example.com/early",
      version: await epochOf(),
    });
    expect(await readRecord("", "link-6")).toMatchObject({
      destination: "https://example.com/late",
      version: late,
    });
  });

  longTest(
    "in which replaced messages stay, as after a disk error, is made again and filled",
    async () => {
      // With more than one message a subject, a message does not replace the one before.
      await stores.manager.streams.add({
        name: LINKS_STREAM,
        subjects: ["links.>"],
        allow_direct: true,
      });
      await publishDeleted(1_000);
      const { created } = await stores.manager.streams.info(LINKS_STREAM);
      const before = await epochOf();
      // Not before, as it would fill the stream while these are published, and delete it.
      await using _ = startWatch();
      const epoch = await expectFilled(before);
      await expectAllPublished(epoch);
      const info = await stores.manager.streams.info(LINKS_STREAM);
      expect(info.created).not.toBe(created);
      expect(info.config.max_msgs_per_subject).toBe(1);
    },
  );

  test("has a heartbeat that says how many links there are at least", async () => {
    await using _ = startWatch();
    await expectFilled(0);
    const { sql } = stores;
    // Of a domain that has lost its proof, and one whose change may not be published yet.
    await sql`insert into domains (id, account_id, mode, host, verification_value, verified_at)
              select gen_random_uuid(), ${stores.owner.accountId}, 'live', 'unverified.example', 'proof', now()`;
    await sql`update links set domain_id = (select id from domains where host = 'unverified.example')
               where alias = 'link-7'`;
    await sql`update domains set verified_at = null where host = 'unverified.example'`;
    await sql`insert into link_outbox (version, record, created_at)
              values (1, ${sql.json({ state: "deleted", version: 1, domain: "", alias: "none" })}, now() + interval '1 hour')`;
    await expectLinks(LINKS - 2);
    await sql`delete from link_outbox`;
    await expectLinks(LINKS - 1);
    // Its links are being published.
    await sql`update domains set verified_at = now(), republishing = true where host = 'unverified.example'`;
    await expectLinks(LINKS - 1);
    await sql`update domains set republishing = false where host = 'unverified.example'`;
    await expectLinks(LINKS);
    await sql`update links set domain_id = null where alias = 'link-7'`;
    await sql`delete from domains where host = 'unverified.example'`;
  });

  test("that has lost messages is filled", async () => {
    await using _ = startWatch();
    const before = await expectFilled(await epochOf());
    for (let i = 1; i <= 50; i++)
      await stores.manager.streams.purge(LINKS_STREAM, {
        filter: linkSubject({ domain: "", alias: `link-${i}` }),
      });
    await expectFilled(before);
    for (let i = 1; i <= 50; i++)
      expect(await readRecord("", `link-${i}`)).toMatchObject({ state: "active" });
  });
});

test("a database whose disk is full is named, until there is room, and the heartbeat goes on", async () => {
  await using api = startWatch();
  await expectFilled(0);
  const { sql } = stores;
  await sql`
    create function refuse() returns trigger language plpgsql as $$
      begin raise exception 'No space left on device' using errcode = 'disk_full'; end $$`;
  await sql`create trigger refuse before update on link_feed for each row execute function refuse()`;
  await eventually(
    async () => expect(api.watch.databaseProblem()).toContain("disk is full"),
    WITHIN_MS,
  );
  expect(await readHeartbeat()).toMatchObject({ complete: true });
  expect(await sql`update link_feed set version = version`.catch(isUnavailable)).toBe(true);
  await sql`drop function refuse cascade`;
  await eventually(async () => expect(api.watch.databaseProblem()).toBeUndefined(), WITHIN_MS);
});

describe("a database that was restored", () => {
  test("draws versions above all that were published, and publishes everything anew", async () => {
    await using _ = startWatch();
    const before = await expectFilled(0);
    const { sql } = stores;
    const [backup] = await sql`select last_value::float8 as version from link_version`;
    // Its clock was an hour ahead, so that time alone would not make versions higher.
    const ahead = Number(backup?.["version"]) + 3_600_000_000;
    await sql`select setval('link_version', ${ahead})`;
    await eventually(
      async () => expect((await readHeartbeat())?.version).toBeGreaterThan(ahead),
      WITHIN_MS,
    );
    const published = (await readHeartbeat())?.version ?? 0;
    // In one statement, as no check meets a database of which only a part is restored.
    await sql`
      update link_feed set version = restored.version
        from (select setval('link_version', ${Number(backup?.["version"])}) as version) restored`;
    const epoch = await expectFilled(before);
    expect(epoch).toBeGreaterThan(published);
    await expectAllPublished(epoch);
  });
});

longTest(
  "a stream is filled once for a loss, though checks that began before its end saw it incomplete",
  async () => {
    const fillings: number[] = [];
    const watches = [1, 2].map(() =>
      startFeedWatches({
        sql: stores.sql,
        nats: Promise.resolve(stores.connection),
        streamReplicas: 1,
        streams: [UNDIVIDED],
        fill: async ({ epoch }) => {
          fillings.push(epoch);
          // Ends in the midst of checks.
          await Bun.sleep(Math.random() * 20);
          return true;
        },
        takeAcknowledged: () => 0,
        log,
        intervalMs: 1,
      }),
    );
    // The stream was made again before this test.
    let epoch = await expectFilled(await epochOf());
    expect(fillings).toHaveLength(1);
    const LOSSES = 50;
    for (let i = 0; i < LOSSES; i++) {
      await recordIncomplete(stores.sql, 0);
      epoch = await expectFilled(epoch);
    }
    await Promise.all(watches.map((watch) => watch.stop()));
    expect(fillings).toHaveLength(1 + LOSSES);
  },
);

test("a database that is restored during a check keeps its old version, so that the next check notices", async () => {
  const { sql } = stores;
  const read = await selectFeed(sql);
  await sql`update link_feed set version = ${read.version - 1}`;
  const position = { created: "now", last_sequence: 1, messages: 1 };
  await recordPosition(sql, position, read.version);
  expect(await selectFeed(sql)).toEqual({ ...read, version: read.version - 1 });
  await recordPosition(sql, position, read.version - 1);
  expect((await selectFeed(sql)).version).toBeGreaterThan(read.version);
});

test("an operator can have everything published anew, takedowns included, and waits for it", async () => {
  await using _ = startWatch();
  const before = await expectFilled(0);
  await changeTakedowns(stores.sql, "host", "evil.example", true);
  const progress: number[] = [];
  expect(await resyncLinks(stores.sql, (links) => progress.push(links))).toBe(LINKS);
  expect(progress.at(-1)).toBe(LINKS);
  await expectAllPublished(await epochOf());
  expect(await epochOf()).toBeGreaterThan(before);
  expect(await readRecord("", "@takedowns")).toMatchObject({
    takedowns: { hosts: ["evil.example"] },
  });
});
