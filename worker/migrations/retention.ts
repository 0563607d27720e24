/** Data retention: sets each table's TTL, where it differs from the configuration. */
import type { ClickHouseClient } from "@clickhouse/client";

import { ROLLUP_TABLES } from "../../shared/clicks/rollup-tables.ts";

/** Longest retention of unknown aliases in days: visitors invent them. */
const ALIASES_DAYS_MAX = 90;

/** Days after which rows expire; 0 keeps them forever. */
export type Retention = { clicksDays: number; rollupsDays: number };

/** Sets the TTL of all tables. ClickHouse deletes expired rows when it merges parts. */
export async function setRetention(
  client: ClickHouseClient,
  { clicksDays, rollupsDays }: Retention,
): Promise<void> {
  const result = await client.query({
    query: `SELECT name, extract(engine_full, 'TTL (.*?) SETTINGS') AS ttl FROM system.tables
             WHERE database = currentDatabase()`,
    format: "JSONEachRow",
  });
  const rows = await result.json<{ name: string; ttl: string }>();
  const currentTtls = new Map(rows.map(({ name, ttl }) => [name, ttl]));
  const retentions = [
    { table: "clicks", time: "toDateTime(ts)", days: clicksDays },
    ...ROLLUP_TABLES.map(({ table }) => ({ table, time: "bucket", days: rollupsDays })),
    { table: "failures", time: "bucket", days: rollupsDays },
    {
      table: "unknown_aliases",
      time: "bucket",
      days: Math.min(rollupsDays || ALIASES_DAYS_MAX, ALIASES_DAYS_MAX),
    },
  ];
  for (const { table, time, days } of retentions) {
    const ttl = days === 0 ? "" : `${time} + toIntervalDay(${days})`;
    if ((currentTtls.get(table) ?? "") === ttl) continue;
    await client.command({
      query: `ALTER TABLE ${table} ${ttl === "" ? "REMOVE TTL" : `MODIFY TTL ${ttl}`}`,
    });
  }
}
