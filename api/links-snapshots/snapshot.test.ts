/**
 * Goal: a snapshot, and the entries after its start, make what PostgreSQL has, whatever changes
 * while it is built. Method: real PostgreSQL, and the store that a host would have.
 */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { storePath } from "../../redirector/links/store-files.ts";
import { LogStore, StoreReader } from "../../redirector/links/store.ts";
import { decodeLinkRecord } from "../../shared/contracts/link-record.ts";
import { newUuid } from "../../shared/ids.ts";
import { advance, decideStep, decodeEntry } from "../../shared/links-log/entries.ts";
import { toChange } from "../../shared/links-store/schema.ts";
import { eventually } from "../../test/harness/eventually.ts";
import { forFile } from "../../test/harness/for-file.ts";
import { LinksStores } from "../../test/harness/links-stores.ts";
import { anyVersion, startPostgres } from "../../test/harness/postgres.ts";
import { numberLog, selectEntries } from "../links-log/log.ts";
import { changeTakedowns } from "../takedowns/service.ts";
import { buildSnapshot } from "./snapshot.ts";

/** More than are read at once, several times. */
const LINKS = 20_000;

const stores = await forFile(LinksStores.start());
await stores.addLinks(LINKS);
const { sql, owner } = stores;
const domain = newUuid();
await sql`
    insert into domains (id, account_id, mode, host, verification_value, verified_at, case_sensitive, settings)
    values (${domain}, ${owner.accountId}, 'live', 'go.example.com', 'value', now(), false,
            ${sql.json({ root_url: "https://example.com/root" })})`;
await stores.addLinks(3, "own", domain);

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "shorthop-snapshot-"));
});
afterEach(() => rmSync(dir, { recursive: true }));

/** Applies the entries after the store's head, as a host does. */
async function follow(store: LogStore): Promise<void> {
  for (const { bytes } of await selectEntries(stores.sql, 0)) {
    const entry = decodeEntry(bytes);
    if (entry === undefined) throw new Error("There is a row that is no entry.");
    const step = decideStep(store.state, entry);
    expect(step).not.toBe("overwrite");
    const records = step === "apply" ? entry.states : [];
    const changes = records.flatMap((state) => {
      const record = decodeLinkRecord(state);
      return record === undefined ? [] : [toChange(record, state)];
    });
    store.write(changes, { ...store.state, ...advance(store.state, entry, step) });
  }
}

/** Changes links of which some were read, and some were not; and the takedowns. */
async function change(turn: number): Promise<void> {
  const { sql, links, owner } = stores;
  const rows = await sql<{ id: string }[]>`
    select id from links where alias = any (${[`link-100${turn}`, `link-99${turn}`]}::text[])`;
  for (const { id } of rows)
    await links.update(owner, id, { url: `https://example.com/turn-${turn}` }, anyVersion);
  await links.create(owner, newUuid(), { url: "https://example.com/new", alias: `new-${turn}` });
  await changeTakedowns(sql, "host", `taken-${turn}.example`, true);
}

/** Keeps anything from being numbered until changes of links that were read are committed. */
const holdEnd = (changed: Promise<unknown>) =>
  stores.sql.begin(async (transaction) => {
    await transaction`select from link_log_head for update`;
    await changed;
  });

test("a snapshot and the entries after its start make what PostgreSQL has, whatever changes meanwhile", async () => {
  const { sql } = stores;
  await changeTakedowns(sql, "host", "taken.example", true);
  const building = buildSnapshot(sql, storePath(dir));
  await eventually(async () => expect(existsSync(storePath(dir))).toBe(true));
  await holdEnd(
    (async () => {
      for (let turn = 0; turn < 10; turn++) await change(turn);
    })(),
  );
  const contents = await building;
  expect(contents.links).toBeGreaterThanOrEqual(LINKS + 3);
  expect(contents.end.position).toBeGreaterThan(contents.start.position);
  await numberLog(sql);
  using store = new LogStore(dir, 0);
  expect(store.state).toMatchObject({ head: contents.start, links: contents.links });
  await follow(store);
  using reader = new StoreReader(dir);
  const rows = await sql<{ alias: string; host: string | null; target_url: string }[]>`
    select lower(alias) as alias, host, target_url from links left join domains on domains.id = domain_id`;
  const read = rows.map(({ alias, host }) => reader.find(host ?? "", alias));
  expect(read.map((record) => record?.state === "active" && record.destination)).toEqual(
    rows.map(({ target_url }) => target_url),
  );
  expect(store.state.links).toBe(rows.length);
  const { length } = await sql`select from takedowns`;
  expect(reader.find("", "@takedowns")).toMatchObject({ takedowns: { hosts: { length } } });
  expect(reader.find("go.example.com", "@domain")).toMatchObject({
    settings: { root_url: "https://example.com/root" },
  });
});

test("a database without an account has one without links", async () => {
  await using empty = await startPostgres();
  const contents = await buildSnapshot(empty.sql, storePath(dir));
  expect(contents).toMatchObject({ links: 0 });
});
