/**
 * Goal: what PostgreSQL has is what hosts have, after either of PostgreSQL and NATS came back older
 * or empty, with all parts together. Method: real PostgreSQL and NATS, and a host in this process.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { currentFolder, HostLog } from "../../redirector/links/host-log.ts";
import { openReader } from "../../redirector/links/store-reader.ts";
import { newUuid } from "../../shared/ids.ts";
import type { LogState } from "../../shared/links-store/log-state.ts";
import { createLog } from "../../shared/log.ts";
import { openNats } from "../../shared/nats.ts";
import { eventually } from "../../test/harness/eventually.ts";
import { type FeedStores, startFeedStores } from "../../test/harness/links-feed.ts";
import { changeTakedowns } from "../takedowns/service.ts";
import { LinksLogPublisher } from "./publisher.ts";
import { SnapshotMaker } from "./snapshot-maker.ts";

setDefaultTimeout(120_000);

const WITHIN_MS = 20_000;
const LINKS = 300;

const log = createLog("test", "silent");

let stores: FeedStores;
let dir: string;
beforeAll(async () => {
  stores = await startFeedStores();
  dir = mkdtempSync(join(tmpdir(), "shorthop-links-"));
});
afterAll(async () => {
  rmSync(dir, { recursive: true });
  await stores[Symbol.asyncDispose]();
});

const create = (alias: string) =>
  stores.links.create(stores.owner, newUuid(), { url: `https://example.com/${alias}`, alias });

/** The tables of the log and its links, which come back older with PostgreSQL. */
const TABLES = ["link_outbox", "link_log", "link_log_head", "links", "link_counters"];

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

test("a host has what PostgreSQL has after both came back, and takedowns before it has all of it", async () => {
  const { sql, connection, manager, nats } = stores;
  const publisher = new LinksLogPublisher(sql, Promise.resolve(connection), 1, log);
  const maker = new SnapshotMaker(sql, publisher, 1, log);
  const hostNats = openNats({ url: nats.url, name: "redirector", log });
  const asked: LogState[] = [];
  const host = new HostLog(join(dir, "host"), hostNats, (state) => void asked.push(state), log);
  const find = (alias: string) => {
    using reader = openReader(currentFolder(join(dir, "host")));
    return reader.find("", alias);
  };
  const settles = (check: () => void) =>
    eventually(async () => {
      check();
      expect(host.state.isCurrent).toBe(true);
    }, WITHIN_MS);
  try {
    // Links that no entry of the log has, as in a database whose log was truncated.
    await stores.addLinks(LINKS);
    await create("first");
    expect(await publisher.publish()).toBe(true);
    expect(await maker.make(connection)).toBe(true);
    const restore = await savePostgres();
    await create("lost");
    expect(await publisher.publish()).toBe(true);
    await settles(() => expect(find("lost")?.state).toBe("active"));

    await nats.kill();
    await nats.start("lost");
    await restore();
    await create("second");
    await eventually(() => manager.streams.info("LINK_LOG"), WITHIN_MS);
    await changeTakedowns(sql, "host", "taken.example", true);
    expect(await publisher.publish()).toBe(true);
    // Before there is a snapshot.
    await eventually(async () => {
      expect(find("@takedowns")).toMatchObject({ takedowns: { hosts: ["taken.example"] } });
      expect(asked.length).toBeGreaterThan(0);
    }, WITHIN_MS);
    expect(find("lost")?.state).toBe("active");
    expect(host.state.isCurrent).toBe(false);
    const { written, doubtful } = asked.at(-1) ?? host.state;
    expect(await maker.answer(connection, doubtful ? [written, doubtful] : [written])).toBe(true);
    await settles(() => expect(find("lost")).toBeUndefined());
    expect(find("first")?.state).toBe("active");
    expect(find("second")?.state).toBe("active");
    expect(host.state.links).toBe(LINKS + 2);
  } finally {
    await host.stop();
    await hostNats.close();
    await publisher.stop();
  }
});
