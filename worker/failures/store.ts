/** Stores reports of failed requests. */
import type { ClickHouseClient } from "@clickhouse/client";

import { type FailureReport, NO_OWNER } from "../../shared/contracts/failures.ts";

/** Inserts a report. It is idempotent, by the report's id. */
export async function insertReport(
  client: Pick<ClickHouseClient, "insert">,
  { id, bucket, links, domains, aliases }: FailureReport,
): Promise<void> {
  const unknown = domains.map((sum) => ({
    account_id: NO_OWNER,
    mode: "live",
    link_id: NO_OWNER,
    reason: "unknown_alias",
    ...sum,
  }));
  const insert = async (table: string, rows: readonly object[]) => {
    if (rows.length === 0) return;
    await client.insert({
      table,
      values: rows.map((row) => ({ ...row, bucket })),
      format: "JSONEachRow",
      clickhouse_settings: {
        insert_deduplicate: 1,
        insert_deduplication_token: id,
        async_insert: 0,
        distributed_foreground_insert: 1,
      },
    });
  };
  await insert("failures", [...links, ...unknown]);
  await insert("unknown_aliases", aliases);
}
