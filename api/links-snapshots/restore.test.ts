/**
 * Goal: what PostgreSQL has is what hosts have, after either of PostgreSQL and NATS came back older
 * or empty, with all parts together. Method: real PostgreSQL and NATS, and a host in this process.
 */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { HostLog } from "../../redirector/links/host-log.ts";
import { currentFolder } from "../../redirector/links/store-files.ts";
import { StoreReader } from "../../redirector/links/store.ts";
import { newUuid } from "../../shared/ids.ts";
import {
  encodeSnapshotRequest,
  listSnapshots,
  SNAPSHOT_REQUESTS,
  SNAPSHOTS_STREAM,
} from "../../shared/links-log/snapshots.ts";
import { LINK_LOG_STREAM } from "../../shared/links-log/tail.ts";
import { processLog } from "../../shared/log.ts";
import { NatsClient } from "../../shared/nats.ts";
import { eventually } from "../../test/harness/eventually.ts";
import { forFile } from "../../test/harness/for-file.ts";
import { SIGNER } from "../../test/harness/links-log.ts";
import { LinksStores } from "../../test/harness/links-stores.ts";
import { cutLog } from "../links-log/log.ts";
import { LinksLogPublisher } from "../links-log/publisher.ts";
import { changeTakedowns } from "../takedowns/service.ts";
import { resyncHosts } from "./hosts.ts";
import { lockSnapshot, SnapshotMaker } from "./snapshot-maker.ts";

const WITHIN_MS = 20_000;
const LINKS = 300;

const log = processLog("test", "silent");

/** The tables of the log and its links, which come back older with PostgreSQL. */
const TABLES = ["link_outbox", "link_log", "link_log_head", "links", "link_counters"];

let dir: string;
const stores = await forFile(LinksStores.start());
const apiNats = await forFile(new NatsClient(stores.nats.url, "api", log), (nats) => nats.close());
await apiNats.connection;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "shorthop-links-"));
  const { sql, manager } = stores;
  for (const stream of [LINK_LOG_STREAM, SNAPSHOTS_STREAM])
    await manager.streams.delete(stream).catch(() => undefined);
  await sql.begin(async (transaction) => {
    await transaction`set local session_replication_role = replica`;
    for (const table of [...TABLES, "takedowns"]) await transaction`delete from ${sql(table)}`;
    await transaction`insert into link_log_head default values`;
  });
});
afterEach(() => rmSync(dir, { recursive: true }));

const create = (alias: string) =>
  stores.links.create(stores.owner, newUuid(), { url: `https://example.com/${alias}`, alias });

/** Saves PostgreSQL as it is; the result restores it. */
async function savePostgres(): Promise<() => Promise<unknown>> {
  const { sql } = stores;
  for (const table of TABLES)
    await sql`create table ${sql(`saved_${table}`)} as table ${sql(table)}`;
  return () =>
    sql.begin(async (transaction) => {
      await transaction`set local session_replication_role = replica`;
      for (const table of TABLES) {
        await transaction`delete from ${sql(table)}`;
        await transaction`
          insert into ${sql(table)} overriding system value select * from ${sql(`saved_${table}`)}`;
      }
    });
}

/** What an API process publishes, and the snapshots that it makes. */
class Api implements AsyncDisposable {
  readonly #context = {
    sql: stores.sql,
    nats: apiNats,
    signer: SIGNER,
    replicas: 1,
    log,
    noteFailure: () => undefined,
  };
  readonly publisher: LinksLogPublisher;
  #maker: SnapshotMaker | undefined;

  constructor() {
    this.publisher = new LinksLogPublisher(this.#context);
  }

  startSnapshots(): SnapshotMaker {
    return (this.#maker = new SnapshotMaker(this.#context, this.publisher, stores.databaseUrl));
  }

  async stopSnapshots(): Promise<void> {
    await this.#maker?.stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stopSnapshots();
    await this.publisher.stop();
  }
}

const startHost = (nats: NatsClient) =>
  new HostLog(join(dir, "host"), { nats, verifier: SIGNER, log });

/** The folder of the host's store. */
const folder = () => currentFolder(join(dir, "host"));

/** What the host has of a link or notice. */
function find(alias: string) {
  using reader = new StoreReader(folder());
  return reader.find("", alias);
}

const ask = (term: number) =>
  stores.connection.publish(SNAPSHOT_REQUESTS, encodeSnapshotRequest(term));

const snapshotsOf = () => listSnapshots(stores.manager, SIGNER);

test("a host has what PostgreSQL has after both came back, and takedowns before it has all of it", async () => {
  const { sql, manager, nats } = stores;
  const hostNats = new NatsClient(nats.url, "redirector", log);
  await using api = new Api();
  const host = startHost(hostNats);
  const settles = (check: () => void) =>
    eventually(async () => {
      check();
      expect(host.state.isCurrent).toBe(true);
    }, WITHIN_MS);
  try {
    // Links that no entry of the log has, as in a database whose log was truncated.
    await stores.addLinks(LINKS);
    await create("first");
    expect(await api.publisher.publish()).toBe(true);
    const first = api.startSnapshots();
    await eventually(async () => expect(first.storedAt).toBeDefined(), WITHIN_MS);
    await api.stopSnapshots();
    const restore = await savePostgres();
    await create("lost");
    expect(await api.publisher.publish()).toBe(true);
    await settles(() => expect(find("lost")?.state).toBe("active"));

    await nats.kill();
    await nats.start("lost");
    await restore();
    await create("second");
    await eventually(() => manager.streams.info(LINK_LOG_STREAM), WITHIN_MS);
    await changeTakedowns(sql, "host", "taken.example", true);
    // The publisher may still be finding out what the other NATS has.
    await eventually(async () => expect(await api.publisher.publish()).toBe(true), WITHIN_MS);
    // Before there is a snapshot.
    await eventually(async () => {
      expect(find("@takedowns")).toMatchObject({ takedowns: { hosts: ["taken.example"] } });
      expect(host.state.obstacle).toContain("waits for a snapshot");
    }, WITHIN_MS);
    expect(find("lost")?.state).toBe("active");
    expect(host.state.isCurrent).toBe(false);
    api.startSnapshots();
    await settles(() => expect(find("lost")).toBeUndefined());
    expect(find("first")?.state).toBe("active");
    expect(find("second")?.state).toBe("active");
    expect(host.state.links).toBe(LINKS + 2);
  } finally {
    await host.stop();
    await hostNats.close();
  }
});

describe("a host that asks", () => {
  test("gets a term above its own, and a snapshot of that, once in a while", async () => {
    await using api = new Api();
    const maker = api.startSnapshots();
    await eventually(async () => expect(maker.storedAt).toBeDefined(), WITHIN_MS);
    await stores.sql`update link_log_head set answered_at = null`;
    const term = () => api.publisher.head?.term ?? 0;
    await eventually(async () => {
      // Again, as hosts do: a term that begins at this moment has no snapshot yet.
      ask(50);
      expect(maker.requests.answered).toBe(1);
      expect(term()).toBe(51);
      expect((await snapshotsOf()).at(-1)?.manifest.start.term).toBe(51);
    }, WITHIN_MS);
    const before = maker.requests.ignored;
    await eventually(async () => {
      ask(90);
      expect(maker.requests.ignored).toBeGreaterThan(before + 3);
    }, WITHIN_MS);
    expect(term()).toBe(51);
  });

  test("while a snapshot is to be made of this term waits for that one", async () => {
    await using api = new Api();
    const maker = api.startSnapshots();
    await eventually(async () => expect(maker.storedAt).toBeDefined(), WITHIN_MS);
    await stores.sql`update link_log_head set answered_at = null`;
    await stores.sql.begin(async (lock) => {
      await lockSnapshot(lock);
      await cutLog(stores.sql);
      await eventually(async () => expect(maker.storedAt).toBeUndefined(), WITHIN_MS);
      ask(1);
      await eventually(async () => expect(maker.requests.ignored).toBe(1), WITHIN_MS);
    });
  });

  test("with something that is no request gets nothing", async () => {
    await using api = new Api();
    const maker = api.startSnapshots();
    await eventually(async () => {
      stores.connection.publish(SNAPSHOT_REQUESTS, "x".repeat(10_000));
      expect(maker.requests.malformed).toBeGreaterThan(0);
    }, WITHIN_MS);
  });
});

test("a failure is said until a check succeeds, also when no snapshot is due", async () => {
  await using api = new Api();
  const maker = api.startSnapshots();
  await eventually(async () => expect(maker.storedAt).toBeDefined());
  const { sql } = stores;
  await sql`alter table link_log_head rename to link_log_head_away`;
  try {
    await eventually(async () => {
      ask(1);
      expect(maker.problem).toContain("can be made");
    });
  } finally {
    await sql`alter table link_log_head_away rename to link_log_head`;
  }
  await eventually(async () => expect(maker.problem).toBeUndefined());
});

test("an operator's resync makes every host take a snapshot, and another database is adopted", async () => {
  const { sql, manager, nats } = stores;
  const hostNats = new NatsClient(nats.url, "redirector", log);
  await using api = new Api();
  api.startSnapshots();
  const host = startHost(hostNats);
  const settles = () => eventually(async () => expect(host.state.isCurrent).toBe(true), WITHIN_MS);
  try {
    await settles();
    const [before, { links, database }] = [folder(), host.state];
    expect(await resyncHosts(sql, manager, SIGNER)).toBe(links);
    await eventually(async () => expect(folder()).not.toBe(before), WITHIN_MS);
    await settles();
    // As another database that was put in its place.
    await sql`update link_log_head set database = gen_random_uuid(), term = 1`;
    await create("other");
    await api.publisher.publish();
    expect(host.state.database).toBe(database);
    expect(host.state.links).toBe(links);
    await sql`update link_log_head set term = 60`;
    expect(await resyncHosts(sql, manager, SIGNER, database)).toBe(links + 1);
    await eventually(async () => expect(host.state.links).toBe(links + 1), WITHIN_MS);
    await settles();
  } finally {
    await host.stop();
    await hostNats.close();
  }
});
