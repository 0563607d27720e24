/**
 * The rollups of ClickHouse: aggregates of `clicks`, each filled by a materialized view. Those
 * without dimensions are filled from `click_sums`, to which a view passes the sums of each insert
 * into `clicks`. This list is their one source: rebuilding (rollups.ts) and retention
 * (worker/migrations/migrate.ts) derive from it, and worker/migrations/migrate.test.ts compares
 * it with the migrations.
 */
import { DAY_SECONDS, HOUR_SECONDS } from "../durations.ts";

export type RollupTable = {
  table: string;
  /** The materialized view that fills the table on every insert into `clicks`. */
  view: string;
  bucketSeconds: number;
  /**
   * The column of the bucket's subject: a link, an account if the rollup has no links, or both if
   * it has rows of each.
   */
  idColumn: "link_id" | "account_id" | "subject_id";
  /** Columns that rows are grouped by. */
  keys: readonly string[];
  /** Aggregated columns. */
  measures: readonly ("clicks" | "visitors")[];
  viewQuery: string;
  /**
   * The same aggregation, of only the clicks for which the condition holds. Where subjects are both
   * links and accounts, `subjects` selects the rows of links.
   */
  selectFromClicks(condition: string, subjects?: "link_id"): string;
  /**
   * Where subjects are both links and accounts: the rows of accounts, as sums of the rows of links
   * for which the condition holds. No order of clicks divides those of an account.
   */
  selectFromLinks?(condition: string): string;
};

export const QUARTER_HOUR_SECONDS = 900;

const where = (...conditions: (string | undefined)[]): string => {
  const present = conditions.filter((condition) => condition !== undefined);
  return present.length === 0 ? "" : `WHERE ${present.join(" AND ")}`;
};

const LINK_KEYS = ["link_id", "account_id", "mode", "bucket"];

/** A state of the visitors of clicks; 0 is none. */
export const VISITORS_STATE = "uniqCombined64StateIf(14)(visitor, visitor != 0)";

/**
 * The content of `click_sums` for one insert: clicks and a state of their visitors by quarter hour.
 */
export const selectSums = (condition?: string): string => `
  SELECT link_id, account_id, mode, toStartOfFifteenMinutes(ts) AS bucket, class, import,
         count() AS clicks, ${VISITORS_STATE} AS visitors
    FROM clicks ${where(condition)}
   GROUP BY link_id, account_id, mode, bucket, class, import`;

/** How a rollup aggregates the sums of an insert. */
type SumsBy = {
  keys: RollupTable["keys"];
  measures: RollupTable["measures"];
  /** The aggregation of `click_sums`, or of a subquery with its columns. */
  select(from: string): string;
};

type OfSums = SumsBy & { table: string; bucketSeconds: number };

/** A rollup that is filled from the sums of each insert. */
const ofSums = ({ select, ...rollup }: OfSums): RollupTable => ({
  ...rollup,
  view: `${rollup.table}_view`,
  idColumn: rollup.keys.includes("link_id") ? "link_id" : "account_id",
  viewQuery: select("click_sums"),
  selectFromClicks: (condition) => select(`(${selectSums(condition)})`),
});

/**
 * Sums of clicks and their visitors by class and a coarser bucket; the last of `keys` is the
 * bucket.
 */
const summedBy = (toBucket: "toStartOfHour" | "toStartOfDay", keys: readonly string[]): SumsBy => ({
  keys: [...keys, "class", "import"],
  measures: ["clicks", "visitors"],
  select: (from) => `
      SELECT ${keys.slice(0, -1).join(", ")}, ${toBucket}(bucket) AS bucket, class, import,
             sum(clicks) AS clicks, uniqCombined64MergeState(14)(visitors) AS visitors
        FROM ${from}
       GROUP BY ${keys.join(", ")}, class, import`,
});

/**
 * A rollup of human clicks by values of their columns and by UTC day. Each click is counted for two
 * subjects: its link, and its account.
 */
function ofSubjects(name: string, columns: readonly string[], expressions = columns): RollupTable {
  const keys = ["subject_id", "account_id", "mode", "bucket", "import", ...columns];
  const table = `clicks_1d_${name}`;
  const others = ["mode", "bucket", "import", ...columns].join(", ");
  const select = (condition?: string, subjects = "link_id, account_id"): string => `
    SELECT arrayJoin([${subjects}]) AS subject_id, account_id, mode, toStartOfDay(ts) AS bucket, import,
           ${expressions.join(", ")}, count() AS clicks
      FROM clicks ${where(condition, "class = 'human'")}
     GROUP BY ${keys.join(", ")}`;
  return {
    table,
    view: `${table}_view`,
    bucketSeconds: DAY_SECONDS,
    idColumn: "subject_id",
    keys,
    measures: ["clicks"],
    viewQuery: select(),
    selectFromClicks: select,
    // The subquery, because a column with another's name would be meant by the condition.
    selectFromLinks: (condition) => `
    SELECT account AS subject_id, account AS account_id, ${others}, clicks
      FROM (
        SELECT account_id AS account, ${others}, sum(clicks) AS clicks
          FROM ${table} ${where(condition, "subject_id != account_id")}
         GROUP BY account, ${others}
      )`,
  };
}

const ACCOUNT_KEYS = ["account_id", "mode", "bucket"];

export const ROLLUP_TABLES: readonly RollupTable[] = [
  ofSums({
    table: "clicks_15m",
    bucketSeconds: QUARTER_HOUR_SECONDS,
    keys: [...LINK_KEYS, "class", "import"],
    measures: ["clicks", "visitors"],
    select: (from) => `
      SELECT link_id, account_id, mode, bucket, class, import, clicks, visitors
        FROM ${from}`,
  }),
  ofSums({
    table: "clicks_1h",
    bucketSeconds: HOUR_SECONDS,
    ...summedBy("toStartOfHour", LINK_KEYS),
  }),
  ofSums({
    table: "clicks_1d",
    bucketSeconds: DAY_SECONDS,
    ...summedBy("toStartOfDay", LINK_KEYS),
  }),
  ofSums({
    table: "clicks_15m_of_account",
    bucketSeconds: QUARTER_HOUR_SECONDS,
    keys: [...ACCOUNT_KEYS, "link_id", "class", "import"],
    measures: ["clicks"],
    select: (from) => `
      SELECT account_id, mode, bucket, link_id, class, import, clicks
        FROM ${from}`,
  }),
  ofSums({
    table: "clicks_1h_of_account",
    bucketSeconds: HOUR_SECONDS,
    ...summedBy("toStartOfHour", ACCOUNT_KEYS),
  }),
  ofSums({
    table: "clicks_1d_of_account",
    bucketSeconds: DAY_SECONDS,
    keys: [...ACCOUNT_KEYS, "link_id", "import"],
    measures: ["clicks"],
    select: (from) => `
      SELECT account_id, mode, toStartOfDay(bucket) AS bucket, link_id, import, sum(clicks) AS clicks
        FROM ${from}
       WHERE class = 'human'
       GROUP BY account_id, mode, bucket, link_id, import`,
  }),
  ofSubjects("places", ["country", "region", "region_name", "city"]),
  ofSubjects(
    "agents",
    ["device", "browser", "os"],
    ["toString(device) AS device", "browser", "os"],
  ),
  ofSubjects("referrers", ["referrer"]),
];
