/**
 * Rollups compared with the clicks they were made from, and made anew where they differ. ClickHouse
 * fills them as clicks are inserted, each page once; what this finds was done by hand, by a restore, or by
 * a fault nobody has thought of.
 */
import type { Uuid } from "../ids.ts";

type Statement = { query: string; query_params: Record<string, unknown> };

/** What is asked of ClickHouse, as its client has it. */
export type ClickHouse = {
  query(question: Statement & { format: "JSONEachRow" }): Promise<{ json<Row>(): Promise<Row[]> }>;
  command(statement: Statement): Promise<unknown>;
};

/** The rows that answer a question. */
export async function askRows<Row>(
  clickhouse: ClickHouse,
  query: string,
  query_params: Record<string, unknown> = {},
): Promise<Row[]> {
  const result = await clickhouse.query({ query, query_params, format: "JSONEachRow" });
  return await result.json<Row>();
}

/** A rollup, the question to `clicks` that its view asks of every insert, and whose figures it holds. */
type Rollup = {
  table: string;
  seconds: number;
  subject: "link_id" | "account_id";
  keys: string;
  figures: string;
  source: string;
};

const CLICKS_IN_RANGE = `
  clicks
 WHERE ts >= toDateTime({from: UInt32}, 'UTC') AND ts < toDateTime({to: UInt32}, 'UTC')`;

const QUARTER_SECONDS = 900;
const HOUR_SECONDS = 3_600;
const DAY_SECONDS = 86_400;

/** Clicks and visitors of a link, or an account, by class. */
const totals = (
  table: string,
  seconds: number,
  start: string,
  keys: string,
  subject: Rollup["subject"] = "link_id",
): Rollup => ({
  table,
  seconds,
  subject,
  keys,
  figures: "clicks, visitors",
  source: `
    SELECT ${keys.replace("bucket", `${start}(ts) AS bucket`)},
           count() AS clicks, uniqCombined64State(14)(visitor) AS visitors
      FROM ${CLICKS_IN_RANGE}
     GROUP BY ${keys}`,
});

/** Human clicks of a link by one dimension at a time. */
const byDimension = (table: string, seconds: number, start: string): Rollup => ({
  table,
  seconds,
  subject: "link_id",
  keys: "link_id, account_id, mode, bucket, dimension, value, country, region, region_name",
  figures: "clicks",
  source: `
    SELECT link_id, account_id, mode, ${start}(ts) AS bucket,
           row.1 AS dimension, row.2 AS value, row.3 AS country, row.4 AS region, row.5 AS region_name,
           count() AS clicks
      FROM (
        SELECT link_id, account_id, mode, ts,
               arrayJoin([
                 ('country', toString(country), '', '', ''),
                 ('region', toString(region), toString(country), '', toString(region_name)),
                 ('city', toString(city), toString(country), toString(region), toString(region_name)),
                 ('browser', toString(browser), '', '', ''),
                 ('os', toString(os), '', '', ''),
                 ('device', toString(device), '', '', ''),
                 ('referrer', toString(referrer), '', '', '')
               ]) AS row
          FROM ${CLICKS_IN_RANGE} AND class = 'human'
      )
     GROUP BY link_id, account_id, mode, bucket, dimension, value, country, region, region_name`,
});

const LINK_KEYS = "link_id, account_id, mode, bucket, class";

const ROLLUPS = [
  totals("clicks_15m", QUARTER_SECONDS, "toStartOfFifteenMinutes", LINK_KEYS),
  totals("clicks_1h", HOUR_SECONDS, "toStartOfHour", LINK_KEYS),
  totals(
    "clicks_15m_of_account",
    QUARTER_SECONDS,
    "toStartOfFifteenMinutes",
    "account_id, mode, bucket, link_id, class",
  ),
  totals(
    "clicks_1h_of_account",
    HOUR_SECONDS,
    "toStartOfHour",
    "account_id, mode, bucket, class",
    "account_id",
  ),
  {
    table: "clicks_1d_of_account",
    seconds: DAY_SECONDS,
    subject: "link_id",
    keys: "account_id, mode, bucket, link_id",
    figures: "clicks",
    source: `
      SELECT account_id, mode, toStartOfDay(ts) AS bucket, link_id, count() AS clicks
        FROM ${CLICKS_IN_RANGE} AND class = 'human'
       GROUP BY account_id, mode, bucket, link_id`,
  },
  byDimension("clicks_15m_by", QUARTER_SECONDS, "toStartOfFifteenMinutes"),
  byDimension("clicks_1d_by", DAY_SECONDS, "toStartOfDay"),
];

/** So much is looked at in one question. */
const STEP_SECONDS = DAY_SECONDS;

/** A bucket of a link, or of an account, whose rollup is not what its clicks say. */
export type Difference = { table: string; subject: Uuid; bucket: number };

/** Unix seconds, `to` exclusive; buckets that are not within it whole are not looked at. */
export type BucketRange = { from: number; to: number };

/**
 * Finds what differs. Clicks that come in meanwhile may look like a difference: the range should end
 * where no more come in.
 */
export async function findDifferences(
  clickhouse: ClickHouse,
  range: BucketRange,
): Promise<Difference[]> {
  const differences: Difference[] = [];
  for (const { table, seconds, subject: id, keys, source } of ROLLUPS) {
    const end = range.to - (range.to % seconds);
    for (let from = Math.ceil(range.from / seconds) * seconds; from < end; from += STEP_SECONDS) {
      const rows = await askRows<{ subject: Uuid; at: number }>(
        clickhouse,
        `SELECT DISTINCT ${id} AS subject, toUnixTimestamp(bucket) AS at
           FROM (
             SELECT ${keys}
               FROM (
                 SELECT ${keys}, toInt64(clicks) AS clicks FROM (${source})
                 UNION ALL
                 SELECT ${keys}, -toInt64(clicks) FROM ${table}
                  WHERE bucket >= toDateTime({from: UInt32}, 'UTC')
                    AND bucket < toDateTime({to: UInt32}, 'UTC')
               )
              GROUP BY ${keys}
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
 * Makes good what differs, bucket by bucket, by one insert of the differences each: readers see a bucket
 * as it was or as it should be, and nothing in between. What there is too much of is added as its negative,
 * for sums of UInt64 go round (2^64 - 1 is -1). Visitors can only be added; who was counted too often
 * is one visitor anyway. Only one repair may go on at a time.
 */
export async function repair(
  clickhouse: ClickHouse,
  differences: readonly Difference[],
): Promise<void> {
  for (const { table, seconds, subject: id, keys, figures, source } of ROLLUPS) {
    const merged = figures.includes("visitors")
      ? ", uniqCombined64MergeState(14)(visitors) AS visitors"
      : "";
    const ours = differences.filter((difference) => difference.table === table);
    for (const bucket of new Set(ours.map((difference) => difference.bucket))) {
      const found = ours.filter((difference) => difference.bucket === bucket);
      await clickhouse.command({
        query: `
          INSERT INTO ${table} (${keys}, ${figures})
          SELECT ${keys}, toUInt64(sum(difference)) AS clicks${merged}
            FROM (
              SELECT *, toInt64(clicks) AS difference FROM (SELECT ${keys}, ${figures} FROM (${source}))
              UNION ALL
              SELECT ${keys}, ${figures}, -toInt64(clicks) AS difference FROM ${table}
               WHERE bucket = toDateTime({from: UInt32}, 'UTC')
            )
           WHERE ${id} IN {subjects: Array(UUID)}
           GROUP BY ${keys}
          HAVING sum(difference) != 0
          SETTINGS insert_deduplicate = 0`,
        query_params: {
          from: bucket,
          to: bucket + seconds,
          subjects: found.map(({ subject }) => subject),
        },
      });
    }
  }
}
