/**
 * Compares rollups with the clicks they aggregate, and rebuilds the buckets that differ. ClickHouse fills rollups as
 * clicks are inserted, once per batch; a difference means a change by hand, a restore, or an unknown fault.
 */
import type { Uuid } from "../ids.ts";
import { ROLLUP_TABLES } from "./rollup-tables.ts";

type Statement = { query: string; query_params: Record<string, unknown> };

/** The part of the ClickHouse client that is used here. */
export type ClickHouse = {
  query(
    query: Statement & {
      format: "JSONEachRow";
      clickhouse_settings?: { use_query_condition_cache: 0 };
    },
  ): Promise<{ json<Row>(): Promise<Row[]> }>;
  command(statement: Statement): Promise<unknown>;
};

/**
 * Runs a query and returns its rows. Without the query condition cache, which makes ClickHouse skip parts of a table that
 * do hold matching rows (github.com/ClickHouse/ClickHouse/issues/111363 and others): a repair of rollups would add up to
 * what was read, and a stored segment would be inserted again.
 */
export async function queryRows<Row>(
  clickhouse: Pick<ClickHouse, "query">,
  query: string,
  query_params: Record<string, unknown> = {},
): Promise<Row[]> {
  const result = await clickhouse.query({
    query,
    query_params,
    format: "JSONEachRow",
    clickhouse_settings: { use_query_condition_cache: 0 },
  });
  return await result.json<Row>();
}

const CLICKS_IN_RANGE =
  "ts >= toDateTime({from: UInt32}, 'UTC') AND ts < toDateTime({to: UInt32}, 'UTC')";

/** How much time one query compares, to bound its memory. */
const STEP_SECONDS = 86_400;

/** Subjects that a statement names: more would not fit into the URL, in which some clients send parameters. */
const SUBJECTS_MAX = 100;

/** A bucket of a link, or of an account, whose rollup does not match its clicks. */
export type Difference = { table: string; subject: Uuid; bucket: number };

/** The links among the subjects of differences. */
export const linksOf = (differences: readonly Difference[]): Set<Uuid> =>
  new Set(differences.filter(({ table }) => OF_LINKS.has(table)).map(({ subject }) => subject));

const OF_LINKS = new Set(
  ROLLUP_TABLES.filter(({ idColumn }) => idColumn === "link_id").map(({ table }) => table),
);

/** Unix seconds, `to` exclusive. */
export type BucketRange = { from: number; to: number };

/**
 * Finds buckets whose rollup does not match the clicks, among those that lie `within` the range entirely, or those
 * that are `touched` by it. Clicks that are stored meanwhile can look like a difference, so the range should end before
 * the time for which clicks still arrive, or none may be stored meanwhile.
 */
export async function findDifferences(
  clickhouse: ClickHouse,
  range: BucketRange,
  buckets: "within" | "touched" = "within",
): Promise<Difference[]> {
  const [roundFrom, roundTo] =
    buckets === "within" ? [Math.ceil, Math.floor] : [Math.floor, Math.ceil];
  const differences: Difference[] = [];
  for (const { table, bucketSeconds, idColumn, keys, selectFromClicks } of ROLLUP_TABLES) {
    const first = roundFrom(range.from / bucketSeconds) * bucketSeconds;
    const end = roundTo(range.to / bucketSeconds) * bucketSeconds;
    for (let from = first; from < end; from += STEP_SECONDS) {
      const rows = await queryRows<{ subject: Uuid; at: number }>(
        clickhouse,
        `SELECT DISTINCT ${idColumn} AS subject, toUnixTimestamp(bucket) AS at
           FROM (
             SELECT ${keys.join(", ")}
               FROM (
                 SELECT ${keys.join(", ")}, toInt64(clicks) AS clicks
                   FROM (${selectFromClicks(CLICKS_IN_RANGE)})
                 UNION ALL
                 SELECT ${keys.join(", ")}, -toInt64(clicks) FROM ${table}
                  WHERE bucket >= toDateTime({from: UInt32}, 'UTC')
                    AND bucket < toDateTime({to: UInt32}, 'UTC')
               )
              GROUP BY ${keys.join(", ")}
             HAVING sum(clicks) != 0
           )
          ORDER BY at, subject`,
        { from, to: Math.min(from + STEP_SECONDS, end) },
      );
      differences.push(...rows.map(({ subject, at }) => ({ table, subject, bucket: at })));
    }
  }
  return differences;
}

/**
 * Rebuilds the buckets that differ, each with a single insert of the differences, so that readers see a bucket either
 * as it was or corrected. Surplus clicks are inserted as a negative number: sums of UInt64 wrap around (2^64 - 1 is
 * -1). Visitors can only be added; one that was counted twice is still one visitor. Only one rebuild may run at a
 * time (lock.ts).
 */
export async function rebuildBuckets(
  clickhouse: ClickHouse,
  differences: readonly Difference[],
): Promise<void> {
  for (const rollup of ROLLUP_TABLES) {
    const { table, bucketSeconds, idColumn, measures, selectFromClicks } = rollup;
    const keys = rollup.keys.join(", ");
    const columns = [keys, ...measures].join(", ");
    const mergedVisitors = measures.includes("visitors")
      ? ", uniqCombined64MergeState(14)(visitors) AS visitors"
      : "";
    const ofTable = differences.filter((difference) => difference.table === table);
    for (const bucket of new Set(ofTable.map((difference) => difference.bucket))) {
      const subjects = ofTable
        .filter((difference) => difference.bucket === bucket)
        .map(({ subject }) => subject);
      // Without names, all that differ in the bucket are rebuilt: the same ones.
      const isNamed = subjects.length <= SUBJECTS_MAX;
      await clickhouse.command({
        query: `
          INSERT INTO ${table} (${columns})
          SELECT ${keys}, toUInt64(sum(difference)) AS clicks${mergedVisitors}
            FROM (
              SELECT *, toInt64(clicks) AS difference
                FROM (SELECT ${columns} FROM (${selectFromClicks(CLICKS_IN_RANGE)}))
              UNION ALL
              SELECT ${columns}, -toInt64(clicks) AS difference FROM ${table}
               WHERE bucket = toDateTime({from: UInt32}, 'UTC')
            )
           ${isNamed ? `WHERE ${idColumn} IN {subjects: Array(UUID)}` : ""}
           GROUP BY ${keys}
          HAVING sum(difference) != 0
          SETTINGS insert_deduplicate = 0, use_query_condition_cache = 0`,
        query_params: {
          from: bucket,
          to: bucket + bucketSeconds,
          ...(isNamed ? { subjects } : {}),
        },
      });
    }
  }
}
