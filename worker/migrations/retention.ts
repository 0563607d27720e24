/** How long ClickHouse keeps clicks and rollups: each table's own rule, set where it differs. */
import type { ClickHouseClient } from "@clickhouse/client";

export type Retention = { clicksDays: number; rollupsDays: number };

const ROLLUPS = [
  "clicks_15m",
  "clicks_1h",
  "clicks_15m_by",
  "clicks_1d_by",
  "clicks_15m_of_account",
  "clicks_1h_of_account",
  "clicks_1d_of_account",
];

/** Sets the rules; 0 days mean for ever. What is too old goes as ClickHouse merges. */
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
  const present = new Map(rows.map(({ name, ttl }) => [name, ttl]));
  const wanted = [
    { table: "clicks", time: "toDateTime(ts)", days: clicksDays },
    ...ROLLUPS.map((table) => ({ table, time: "bucket", days: rollupsDays })),
  ];
  for (const { table, time, days } of wanted) {
    const rule = days === 0 ? "" : `${time} + toIntervalDay(${days})`;
    if ((present.get(table) ?? "") === rule) continue;
    await client.command({
      query: `ALTER TABLE ${table} ${rule === "" ? "REMOVE TTL" : `MODIFY TTL ${rule}`}`,
    });
  }
}
