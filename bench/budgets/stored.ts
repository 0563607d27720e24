/** How much each store of a stack holds on its disk. */
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";

import { withPostgres } from "../../test/harness/admin.ts";
import type { SharedStack } from "../../test/harness/stack.ts";

export const STORES = [
  "PostgreSQL",
  "PostgreSQL's log",
  "ClickHouse",
  "NATS",
  "journal and links store",
] as const;

/** Bytes by store. */
export type Stored = Record<(typeof STORES)[number], number>;

export async function readStored(stack: SharedStack): Promise<Stored> {
  const [row] = await withPostgres(
    stack,
    (sql) => sql<[{ database: string; log: string }]>`
      select pg_database_size(current_database()) as database,
             pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') as log`,
  );
  return {
    PostgreSQL: Number(row.database),
    "PostgreSQL's log": Number(row.log),
    ClickHouse: sizeOf(join(stack.dataDir, "clickhouse")),
    NATS: sizeOf(join(stack.dataDir, "nats")),
    "journal and links store": sizeOf(join(stack.dataDir, "journal")),
  };
}

/** Bytes of all files below a folder; those that are removed meanwhile count nothing. */
function sizeOf(dir: string): number {
  if (!existsSync(dir)) return 0;
  let bytes = 0;
  for (const name of readdirSync(dir, { recursive: true, encoding: "utf8" })) {
    const stats = statSync(join(dir, name), { throwIfNoEntry: false });
    if (stats?.isFile() === true) bytes += stats.blocks * 512;
  }
  return bytes;
}
