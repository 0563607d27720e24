/** What is kept of a run that failed, to find the cause: the stores' contents end with it. */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { createClient } from "@clickhouse/client";

import { ROLLUP_TABLES } from "../../../shared/clicks/rollup-tables.ts";
import { findDifferences } from "../../../shared/clicks/rollups.ts";
import { withTimeout } from "../../../shared/timeout.ts";
import { runSql } from "../../harness/admin.ts";
import { wholeDays } from "../../harness/whole-days.ts";
import type { Topology } from "../topologies/topology.ts";

/** How far back rollups are compared with the clicks: longer than any run. */
const CHECKED_SECONDS = 6 * 3_600;

/** Finds the buckets of all rollups that differ from the clicks. */
export async function findAllDifferences(topology: Topology) {
  const clickhouse = createClient({
    url: topology.clickhouseUrl(),
    use_multipart_params_auto: true,
  });
  const now = Math.ceil(Date.now() / 1_000);
  const range = { from: now - CHECKED_SECONDS, to: now };
  const differences = await findDifferences(clickhouse, wholeDays(range));
  await clickhouse.close();
  return differences;
}

/**
 * By file: with the clicks of each segment and the manifests, what differs can be traced to a
 * batch.
 */
const QUERIES = {
  "batches.jsonl": `SELECT * REPLACE (if(kind = 'checkpoint', '', segments) AS segments) FROM batches ORDER BY at`,
  "segments.jsonl": `
    SELECT link_id, journal_id, segment, count() AS clicks, min(ts) AS first, max(ts) AS last
      FROM clicks GROUP BY ALL ORDER BY first`,
  ...Object.fromEntries(
    ROLLUP_TABLES.map(({ table, idColumn, selectFromClicks }) => [
      `${table}.jsonl`,
      `SELECT subject, bucket, sum(in_rollup) AS rollup, sum(in_clicks) AS from_clicks
         FROM (SELECT ${idColumn} AS subject, bucket, clicks AS in_rollup, 0 AS in_clicks FROM ${table}
               UNION ALL
               SELECT ${idColumn} AS subject, bucket, 0, clicks FROM (${selectFromClicks("true")}))
        GROUP BY subject, bucket ORDER BY bucket, subject`,
    ]),
  ),
};

/** A ClickHouse that hangs is one reason to keep evidence. */
const SUMS_MS_MAX = 60_000;

/**
 * Writes logs, the log of batches, and sums of all tables into a folder, as far as ClickHouse
 * responds; returns the folder.
 */
export async function keepEvidence(topology: Topology, name: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), `shorthop-${name.replaceAll(/\W+/g, "-")}-`));
  for (const [file, text] of Object.entries(topology.logs()))
    await Bun.write(join(folder, file), text);
  try {
    await withTimeout(keepSums(topology, folder), SUMS_MS_MAX);
  } catch (error) {
    await Bun.write(join(folder, "missing.txt"), `Not all could be kept: ${String(error)}\n`);
  }
  return folder;
}

async function keepSums(topology: Topology, folder: string): Promise<void> {
  const url = topology.clickhouseUrl();
  for (const [file, query] of Object.entries(QUERIES))
    await Bun.write(join(folder, file), await runSql(url, `${query} FORMAT JSONEachRow`));
  const differences = await findAllDifferences(topology);
  await Bun.write(join(folder, "differences.json"), JSON.stringify(differences, undefined, 2));
}
