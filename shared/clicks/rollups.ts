/**
 * Compares rollups with the clicks that they aggregate, and rebuilds the buckets that differ. ClickHouse fills rollups with
 * each insert of clicks; a difference means a half-done insert, a change by hand, a restore, or an unknown fault.
 */
import { DAY_SECONDS } from "../durations.ts";
import type { Uuid } from "../ids.ts";
import { type ClickHouse, clickTime, queryRows } from "./query.ts";
import { ROLLUP_TABLES, type RollupTable } from "./rollup-tables.ts";
import { readWholeFrom } from "./whole-clicks.ts";

export { type ClickHouse, queryRows } from "./query.ts";

const CLICKS_IN_RANGE = `ts >= ${clickTime("from")} AND ts < ${clickTime("to")}`;

/** Time range that one query compares, to bound its memory. */
const STEP_SECONDS = DAY_SECONDS;

/** Most subjects that a statement lists: more would not fit into the URL, in which some clients send parameters. */
const SUBJECTS_MAX = 100;

/** A bucket of a link, or of an account, whose rollup does not match its clicks. */
export type Difference = {
  table: string;
  subject: Uuid;
  /** Unix seconds. */
  bucket: number;
  /** Clicks that the rollup lacks, and surplus clicks. Both can occur: too few of one value, too many of another. */
  missing: number;
  surplus: number;
  /** Clicks of people and of bots that a rebuild adds, or takes away if negative. */
  humans: number;
  bots: number;
};

/** Unix seconds, `to` exclusive. */
export type BucketRange = { from: number; to: number };

/**
 * Finds buckets whose rollup does not match the clicks: buckets entirely `within` the range, or all that it `touched`, and
 * only if all their clicks are retained (whole-clicks.ts). Clicks that are stored meanwhile can look like a difference, so it
 * must be confirmed by {@link compareAgain} while nothing is stored.
 */
export async function findDifferences(
  clickhouse: ClickHouse,
  range: BucketRange,
  buckets: "within" | "touched" = "within",
): Promise<Difference[]> {
  const [roundFrom, roundTo] =
    buckets === "within" ? [Math.ceil, Math.floor] : [Math.floor, Math.ceil];
  const wholeFrom = await readWholeFrom(clickhouse);
  const differences: Difference[] = [];
  for (const rollup of ROLLUP_TABLES) {
    const { bucketSeconds } = rollup;
    const first = Math.max(
      roundFrom(range.from / bucketSeconds) * bucketSeconds,
      Math.ceil(wholeFrom / bucketSeconds) * bucketSeconds,
    );
    const end = roundTo(range.to / bucketSeconds) * bucketSeconds;
    for (let from = first; from < end; from += STEP_SECONDS) {
      const to = Math.min(from + STEP_SECONDS, end);
      differences.push(...(await compare(clickhouse, rollup, { from, to })));
    }
  }
  return differences;
}

/** Compares these buckets again, and returns those that still differ. All must be of one bucket of one table. */
export async function compareAgain(
  clickhouse: ClickHouse,
  differences: readonly Difference[],
): Promise<Difference[]> {
  const [first] = differences;
  const rollup = ROLLUP_TABLES.find(({ table }) => table === first?.table);
  if (first === undefined || rollup === undefined) return [];
  if (first.bucket < (await readWholeFrom(clickhouse))) return [];
  const range = { from: first.bucket, to: first.bucket + rollup.bucketSeconds };
  const subjects = new Set(differences.map(({ subject }) => subject));
  return (await compare(clickhouse, rollup, range)).filter(({ subject }) => subjects.has(subject));
}

/** Compares a rollup's buckets with the clicks. The range must begin and end at the limits of buckets. */
async function compare(
  clickhouse: ClickHouse,
  { table, idColumn, keys, selectFromClicks }: RollupTable,
  range: BucketRange,
): Promise<Difference[]> {
  // Rollups without the column have only human clicks.
  const [humans, bots] = keys.includes("class")
    ? ["sumIf(clicks, class = 'human')", "sumIf(clicks, class = 'bot')"]
    : ["sum(clicks)", "0"];
  const rows = await queryRows<Omit<Difference, "table" | "bucket"> & { bucket_at: number }>(
    clickhouse,
    `SELECT ${idColumn} AS subject, toUnixTimestamp(bucket) AS bucket_at,
            toFloat64(sumIf(clicks, clicks > 0)) AS missing, toFloat64(-sumIf(clicks, clicks < 0)) AS surplus,
            toFloat64(${humans}) AS humans, toFloat64(${bots}) AS bots
       FROM (
         SELECT ${keys.join(", ")}, sum(clicks) AS clicks
           FROM (
             SELECT ${keys.join(", ")}, toInt64(clicks) AS clicks
               FROM (${selectFromClicks(CLICKS_IN_RANGE)})
             UNION ALL
             SELECT ${keys.join(", ")}, -toInt64(clicks) FROM ${table}
              WHERE bucket >= toDateTime({from: UInt32}, 'UTC')
                AND bucket < toDateTime({to: UInt32}, 'UTC')
           )
          GROUP BY ${keys.join(", ")}
         HAVING clicks != 0
       )
      GROUP BY subject, bucket_at
      ORDER BY bucket_at, subject`,
    range,
  );
  return rows.map(({ bucket_at, ...row }) => ({ table, bucket: bucket_at, ...row }));
}

/**
 * Rebuilds the buckets that differ, each with a single insert of the differences, so that readers see a bucket either
 * as it was or corrected. Surplus clicks are inserted as a negative number: sums of UInt64 wrap around (2^64 - 1 is
 * -1). Visitors can only be added; one that was counted twice is still one visitor. Only one rebuild may run at a
 * time (lock.ts), and nothing may be inserted meanwhile. A bucket of which clicks may be deleted is left as it is.
 */
export async function rebuildBuckets(
  clickhouse: ClickHouse,
  differences: readonly Difference[],
): Promise<void> {
  const wholeFrom = await readWholeFrom(clickhouse);
  for (const rollup of ROLLUP_TABLES) {
    const { table, bucketSeconds, idColumn, measures, selectFromClicks } = rollup;
    const keys = rollup.keys.join(", ");
    const columns = [keys, ...measures].join(", ");
    const mergedVisitors = measures.includes("visitors")
      ? ", uniqCombined64MergeState(14)(visitors) AS visitors"
      : "";
    const ofTable = differences.filter(
      (difference) => difference.table === table && difference.bucket >= wholeFrom,
    );
    for (const bucket of new Set(ofTable.map((difference) => difference.bucket))) {
      const subjects = ofTable
        .filter((difference) => difference.bucket === bucket)
        .map(({ subject }) => subject);
      // Without a list of subjects, all that differ in the bucket are rebuilt, which are the same ones.
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
