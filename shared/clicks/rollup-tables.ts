/**
 * The rollups of ClickHouse: aggregates of `clicks`, each filled by a materialized view. This list is their one
 * source: rebuilding (rollups.ts) and retention (worker/migrations/retention.ts) derive from it, and
 * worker/migrations/rollups.test.ts compares it with the migrations.
 */

export type RollupTable = {
  table: string;
  /** The materialized view that fills the table on every insert into `clicks`. */
  view: string;
  bucketSeconds: number;
  /** What a rebuild is limited to: links, or accounts where the rollup has no links. */
  idColumn: "link_id" | "account_id";
  /** Columns that rows are grouped by. */
  keys: readonly string[];
  /** Aggregated columns. */
  measures: readonly ("clicks" | "visitors")[];
  /** The view's query. With a condition, it reads only the clicks for which that holds. */
  selectFromClicks(condition?: string): string;
};

type Bucket = { seconds: number; start: string };

const QUARTER_HOUR: Bucket = { seconds: 900, start: "toStartOfFifteenMinutes(ts)" };
const HOUR: Bucket = { seconds: 3_600, start: "toStartOfHour(ts)" };
const DAY: Bucket = { seconds: 86_400, start: "toStartOfDay(ts)" };

const HUMAN = "class = 'human'";

/** Column expressions, with the bucket computed from the time of the click. */
const selectKeys = (keys: readonly string[], bucket: Bucket): string =>
  keys.map((key) => (key === "bucket" ? `${bucket.start} AS bucket` : key)).join(", ");

const where = (...conditions: (string | undefined)[]): string => {
  const present = conditions.filter((condition) => condition !== undefined);
  return present.length === 0 ? "" : `WHERE ${present.join(" AND ")}`;
};

/** Clicks and visitors by class. */
const totals = (table: string, bucket: Bucket, keys: readonly string[]): RollupTable => ({
  table,
  view: `${table}_view`,
  bucketSeconds: bucket.seconds,
  idColumn: keys.includes("link_id") ? "link_id" : "account_id",
  keys,
  measures: ["clicks", "visitors"],
  selectFromClicks: (condition) => `
    SELECT ${selectKeys(keys, bucket)},
           count() AS clicks, uniqCombined64State(14)(visitor) AS visitors
      FROM clicks ${where(condition)}
     GROUP BY ${keys.join(", ")}`,
});

/** Human clicks without visitors. */
const humanClicks = (table: string, bucket: Bucket, keys: readonly string[]): RollupTable => ({
  table,
  view: `${table}_view`,
  bucketSeconds: bucket.seconds,
  idColumn: "link_id",
  keys,
  measures: ["clicks"],
  selectFromClicks: (condition) => `
    SELECT ${selectKeys(keys, bucket)}, count() AS clicks
      FROM clicks ${where(condition, HUMAN)}
     GROUP BY ${keys.join(", ")}`,
});

const LINK_KEYS = ["link_id", "account_id", "mode", "bucket"];
const DIMENSION_KEYS = ["dimension", "value", "country", "region", "region_name"];

/** Human clicks of a link by one dimension at a time. */
const byDimension = (table: string, bucket: Bucket): RollupTable => ({
  table,
  view: `${table}_view`,
  bucketSeconds: bucket.seconds,
  idColumn: "link_id",
  keys: [...LINK_KEYS, ...DIMENSION_KEYS],
  measures: ["clicks"],
  selectFromClicks: (condition) => `
    SELECT ${selectKeys(LINK_KEYS, bucket)},
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
          FROM clicks ${where(condition, HUMAN)}
      )
     GROUP BY ${[...LINK_KEYS, ...DIMENSION_KEYS].join(", ")}`,
});

const ACCOUNT_KEYS = ["account_id", "mode", "bucket"];

export const ROLLUP_TABLES: readonly RollupTable[] = [
  totals("clicks_15m", QUARTER_HOUR, [...LINK_KEYS, "class"]),
  totals("clicks_1h", HOUR, [...LINK_KEYS, "class"]),
  totals("clicks_15m_of_account", QUARTER_HOUR, [...ACCOUNT_KEYS, "link_id", "class"]),
  totals("clicks_1h_of_account", HOUR, [...ACCOUNT_KEYS, "class"]),
  humanClicks("clicks_1d_of_account", DAY, [...ACCOUNT_KEYS, "link_id"]),
  byDimension("clicks_15m_by", QUARTER_HOUR),
  byDimension("clicks_1d_by", DAY),
];
