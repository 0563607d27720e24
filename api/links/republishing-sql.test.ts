/**
 * Goal: links are read in batches without reading others again. Method: a real PostgreSQL that knows
 * how large its tables are, and its own statistics of what it read.
 */
import { expect, test } from "bun:test";

import { forFile } from "../../test/harness/for-file.ts";
import { LinksStores } from "../../test/harness/links-stores.ts";
import type { LinkRow } from "./model.ts";
import { findServedLinksOf } from "./republishing.ts";

/** As many as make a join over the whole table look cheaper than single look-ups. */
const LINKS = 20_000;
const BATCH = 500;

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

async function readAll(
  next: (last: LinkRow | undefined) => Promise<LinkRow[]>,
): Promise<LinkRow[]> {
  const read: LinkRow[] = [];
  for (let batch = await next(undefined); batch.length > 0; batch = await next(read.at(-1)))
    read.push(...batch);
  return read;
}

test("all links of a domain are read in the order of their aliases, each once, as are their counters", async () => {
  const [links, counters] = [await readsOf("links"), await readsOf("link_counters")];
  const read = await readAll((last) =>
    findServedLinksOf(stores.sql, null, last?.alias ?? "", BATCH),
  );
  expect(new Set(read.map(({ id }) => id)).size).toBe(LINKS);
  expect(read.map(({ alias }) => alias)).toEqual(read.map(({ alias }) => alias).toSorted());
  // A link is read twice: when it is chosen, and with its counters.
  expect((await readsOf("links")) - links).toBeLessThan(3 * LINKS);
  expect((await readsOf("link_counters")) - counters).toBeLessThan(2 * LINKS);
});
