/**
 * Goal: links are read in batches, each once, without reading others again. Method: a real
 * PostgreSQL that knows how large its tables are, and its own statistics of what it read.
 */
import { expect, test } from "bun:test";

import type { ActiveLink } from "../../shared/contracts/link-record.ts";
import { newUuid } from "../../shared/ids.ts";
import { forFile } from "../../test/harness/for-file.ts";
import { LinksStores } from "../../test/harness/links-stores.ts";
import { readServedLinks } from "./record.ts";

/** As many as make a join over the whole table look cheaper than single look-ups. */
const LINKS = 20_000;

const stores = await forFile(LinksStores.start());
await stores.addLinks(LINKS);
await stores.sql`analyze`;

/** Rows of a table that PostgreSQL has read so far, by indexes or without. */
async function readsOf(table: string): Promise<number> {
  // Every connection reports what it has read at the end of its next transaction.
  await Promise.all(
    Array.from({ length: 20 }, () => stores.sql`select pg_stat_force_next_flush(), pg_sleep(0.05)`),
  );
  const [{ reads }] = await stores.sql<[{ reads: number }]>`
    select (seq_tup_read + coalesce(idx_tup_fetch, 0))::float8 as reads
      from pg_stat_user_tables where relname = ${table}`;
  return reads;
}

test("all links are read once, and counters only of those with a click limit", async () => {
  const { sql, owner } = stores;
  const fields = { url: "https://example.com", alias: "limited", max_clicks: 9 };
  const { link } = await stores.links.create(owner, newUuid(), fields);
  await sql`update link_counters set clicks = 7 where link_id = ${link.id}`;
  const [links, counters] = [await readsOf("links"), await readsOf("link_counters")];
  const read: ActiveLink[] = [];
  for await (const batch of readServedLinks(sql))
    read.push(...batch.filter(({ domain }) => domain === ""));
  expect(new Set(read.map(({ alias }) => alias)).size).toBe(LINKS + 1);
  expect(read).toHaveLength(LINKS + 1);
  expect((await readsOf("links")) - links).toBeLessThan(2 * LINKS);
  expect((await readsOf("link_counters")) - counters).toBeLessThan(LINKS);
  const limited = read.find(({ alias }) => alias === "limited");
  expect(limited?.extras?.limit).toMatchObject({ max: 9, stored: 7 });
});

test("the links of all domains that serve are read, each once, whichever batch they fall into", async () => {
  const { accountId } = stores.owner;
  const expected: string[] = [];
  for (const [i, count] of [1, 200, 199, 450, 0, 3].entries()) {
    const id = newUuid();
    await stores.sql`
      insert into domains (id, account_id, mode, host, verification_value, verified_at, case_sensitive)
      values (${id}, ${accountId}, 'live', ${`d${i}.example`}, 'value', now(), false)`;
    await stores.addLinks(count, `d${i}`, id);
    if (i === 3) await stores.sql`update domains set verified_at = null where id = ${id}`;
    else expected.push(...Array.from({ length: count }, (_, n) => `d${i}.example/d${i}-${n + 1}`));
  }
  const read: string[] = [];
  for await (const links of readServedLinks(stores.sql))
    read.push(...links.map(({ domain, alias }) => `${domain}/${alias}`));
  const own = read.filter((name) => !name.startsWith("/"));
  expect(own.toSorted()).toEqual(expected.toSorted());
});
