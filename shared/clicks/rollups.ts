/**
 * Compares rollups with the clicks that they aggregate, and rebuilds the buckets that differ.
 * ClickHouse fills rollups with each insert of clicks; a difference means a half-done insert, a
 * change by hand, a restore, or an unknown fault.
 */
import { HOUR_SECONDS } from "../durations.ts";
import { newUuid, type Uuid } from "../ids.ts";
import {
  type BucketRange,
  COMPARISON_SECONDS_MAX,
  Division,
  type Piece,
  PIECE_CLICKS,
  pieceOfAccounts,
  pieceOfSubjects,
  SUBJECTS_MAX,
} from "./pieces.ts";
import { type ClickHouse, queryRows } from "./query.ts";
import { ROLLUP_TABLES, type RollupTable } from "./rollup-tables.ts";
import { readWholeFrom } from "./whole-clicks.ts";

export { type BucketRange, COMPARISON_SECONDS_MAX } from "./pieces.ts";
export { type ClickHouse, queryRows } from "./query.ts";

/**
 * Time after which ClickHouse gives a statement up: before its client does (worker/clickhouse.ts).
 * An insert that took effect after that would be repeated, and correct a bucket twice.
 */
export const STATEMENT_SECONDS_MAX = 25;

/** A bucket of a link, or of an account, whose rollup does not match its clicks. */
export type Difference = {
  table: string;
  subject: Uuid;
  /** The account of the link, or itself. */
  account: Uuid;
  /** Unix seconds. */
  bucket: number;
  /**
   * Clicks that the rollup lacks, and surplus clicks. Both can occur: too few of one value, too
   * many of another.
   */
  missing: number;
  surplus: number;
  /** Clicks of people and of bots that a rebuild adds, or takes away if negative. */
  humans: number;
  bots: number;
};

/**
 * Finds buckets whose rollup does not match the clicks: buckets entirely within the range, and only
 * if all their clicks are retained (whole-clicks.ts). Clicks that are stored meanwhile can look
 * like a difference, so it must be confirmed by {@link compareAgain} while nothing is stored. Days
 * with more than `pieceClicks` are compared in pieces. Accounts are then suspected also for the
 * differences of their links, with which their own rows may still agree.
 */
export async function findDifferences(
  clickhouse: ClickHouse,
  range: BucketRange,
  pieceClicks = PIECE_CLICKS,
): Promise<Difference[]> {
  const wholeFrom = await readWholeFrom(clickhouse);
  const division = new Division(clickhouse, pieceClicks);
  const differences: Difference[] = [];
  for (const rollup of ROLLUP_TABLES) {
    const { bucketSeconds } = rollup;
    const from = Math.max(
      Math.ceil(range.from / bucketSeconds) * bucketSeconds,
      Math.ceil(wholeFrom / bucketSeconds) * bucketSeconds,
    );
    const to = Math.floor(range.to / bucketSeconds) * bucketSeconds;
    for await (const piece of division.divide(rollup, { from, to })) {
      const found = await compare(clickhouse, rollup, piece, COMPARISON_SECONDS_MAX);
      differences.push(...found, ...(piece.lacksAccounts ? found.map(ofItsAccount) : []));
    }
  }
  return addUp(differences);
}

const ofItsAccount = (difference: Difference): Difference => ({
  ...difference,
  subject: difference.account,
});

const isOfAccount = ({ subject, account }: Difference): boolean => subject === account;

/** Adds up what pieces have found of the same bucket. */
function addUp(differences: readonly Difference[]): Difference[] {
  const sums = new Map<string, Difference>();
  for (const difference of differences) {
    const key = `${difference.table} ${difference.bucket} ${difference.subject}`;
    const sum = sums.get(key) ?? { ...difference, missing: 0, surplus: 0, humans: 0, bots: 0 };
    for (const count of ["missing", "surplus", "humans", "bots"] as const)
      sum[count] += difference[count];
    sums.set(key, sum);
  }
  return [...sums.values()];
}

/**
 * Groups differences by bucket of a table, and divides each group so that one statement can list
 * its subjects. Those of accounts come last: their rows are compared with those of their links,
 * which must be right by then.
 */
export function groupDifferences(differences: readonly Difference[]): Difference[][] {
  const [links, accounts] = [
    differences.filter((one) => !isOfAccount(one)),
    differences.filter(isOfAccount),
  ];
  return [links, accounts]
    .flatMap((some) => [...Map.groupBy(some, ({ table, bucket }) => `${table} ${bucket}`).values()])
    .flatMap((group) =>
      Array.from({ length: Math.ceil(group.length / SUBJECTS_MAX) }, (_, i) =>
        group.slice(i * SUBJECTS_MAX, (i + 1) * SUBJECTS_MAX),
      ),
    );
}

/**
 * Compares a group of {@link groupDifferences} again, and returns those that still differ. Reads
 * the clicks of these links in the bucket, or of accounts the rows of their links; of a rollup by
 * hour that only has accounts, all clicks of the hour.
 */
export async function compareAgain(
  clickhouse: ClickHouse,
  group: readonly Difference[],
): Promise<Difference[]> {
  const found = pieceOf(group);
  if (found === undefined || found.bucket < (await readWholeFrom(clickhouse))) return [];
  return await compare(clickhouse, found.rollup, found.piece, STATEMENT_SECONDS_MAX);
}

function pieceOf(group: readonly Difference[]) {
  const [first] = group;
  const rollup = ROLLUP_TABLES.find(({ table }) => table === first?.table);
  if (first === undefined || rollup === undefined) return undefined;
  const { bucket } = first;
  const range = { from: bucket, to: bucket + rollup.bucketSeconds };
  const subjects = group.map(({ subject }) => subject);
  const piece =
    rollup.selectFromLinks !== undefined && isOfAccount(first)
      ? pieceOfAccounts(rollup.selectFromLinks, range, subjects)
      : pieceOfSubjects(rollup, range, subjects);
  return { rollup, bucket, piece };
}

async function compare(
  clickhouse: ClickHouse,
  { table, idColumn, keys }: RollupTable,
  { expected, rows, parameters }: Piece,
  secondsMax: number,
): Promise<Difference[]> {
  // Rollups without the column have only human clicks.
  const [humans, bots] = keys.includes("class")
    ? ["sumIf(clicks, class = 'human')", "sumIf(clicks, class = 'bot')"]
    : ["sum(clicks)", "0"];
  const found = await queryRows<Omit<Difference, "table" | "bucket"> & { bucket_at: number }>(
    clickhouse,
    `SELECT ${idColumn} AS subject, any(account_id) AS account, toUnixTimestamp(bucket) AS bucket_at,
            toFloat64(sumIf(clicks, clicks > 0)) AS missing, toFloat64(-sumIf(clicks, clicks < 0)) AS surplus,
            toFloat64(${humans}) AS humans, toFloat64(${bots}) AS bots
       FROM (
         SELECT ${keys.join(", ")}, sum(clicks) AS clicks
           FROM (
             SELECT ${keys.join(", ")}, toInt64(clicks) AS clicks
               FROM (${expected})
              WHERE ${rows}
             UNION ALL
             SELECT ${keys.join(", ")}, -toInt64(clicks) FROM ${table}
              WHERE ${rows}
           )
          GROUP BY ${keys.join(", ")}
         HAVING clicks != 0
       )
      GROUP BY subject, bucket_at
      ORDER BY bucket_at, subject
      SETTINGS max_execution_time = ${secondsMax}`,
    parameters,
  );
  return found.map(({ bucket_at, ...row }) => ({ table, bucket: bucket_at, ...row }));
}

/**
 * Rebuilds the buckets that differ, each with a single insert of the differences, so that readers
 * see a bucket of a subject either as it was or corrected. Surplus clicks are inserted as a
 * negative number: sums of UInt64 wrap around (2^64 - 1 is -1). Visitors can only be added; one
 * that was counted twice is still one visitor. Only one rebuild may run at a time, for which the
 * worker has a lock, and nothing may be inserted meanwhile. A bucket of which clicks may be deleted
 * is left as it is.
 */
export async function rebuildBuckets(
  clickhouse: ClickHouse,
  differences: readonly Difference[],
): Promise<void> {
  const wholeFrom = await readWholeFrom(clickhouse);
  for (const group of groupDifferences(differences)) {
    const found = pieceOf(group);
    if (found === undefined || found.bucket < wholeFrom) continue;
    await rebuild(clickhouse, found.rollup, found.piece);
  }
}

/** Makes the rows of a piece what they must be, by inserting the difference. */
export async function rebuild(
  clickhouse: ClickHouse,
  { table, measures, ...rollup }: RollupTable,
  { expected, rows, parameters }: Piece,
): Promise<void> {
  const keys = rollup.keys.join(", ");
  const columns = [keys, ...measures].join(", ");
  const mergedVisitors = measures.includes("visitors")
    ? ", uniqCombined64MergeState(14)(visitors) AS visitors"
    : "";
  await clickhouse.command({
    query: `
      INSERT INTO ${table} (${columns})
      SELECT ${keys}, toUInt64(sum(difference)) AS clicks${mergedVisitors}
        FROM (
          SELECT *, toInt64(clicks) AS difference
            FROM (SELECT ${columns} FROM (${expected}) WHERE ${rows})
          UNION ALL
          SELECT ${columns}, -toInt64(clicks) AS difference FROM ${table}
           WHERE ${rows}
        )
       GROUP BY ${keys}
      HAVING sum(difference) != 0
      SETTINGS insert_deduplicate = 0, use_query_condition_cache = 0,
               max_execution_time = ${STATEMENT_SECONDS_MAX}`,
    query_params: parameters,
  });
}

/** How long a request is valid before a worker starts it. */
export const REQUEST_SECONDS_MAX = 60;

/**
 * How long after its start a request is continued by the next owner, if the owner that started it
 * has ended.
 */
const STARTED_SECONDS_MAX = HOUR_SECONDS;

/**
 * A request to repair rollups, in ClickHouse's table `rollup_repairs`. The command line appends
 * requests, and the owner of the clicks executes them between its inserts: only the owner knows
 * when no insert is half done.
 */
export type RepairRequest = { id: Uuid; range: BucketRange };

export type RepairState = { state: "requested" | "started" } | { state: "done"; rebuilt: number };

async function append(
  clickhouse: ClickHouse,
  { id, range }: RepairRequest,
  state: RepairState,
): Promise<void> {
  await clickhouse.command({
    query: `
      INSERT INTO rollup_repairs (id, state, range_from, range_to, rebuilt)
      SELECT {id: UUID}, {state: String}, {from: UInt32}, {to: UInt32}, {rebuilt: UInt64}
      SETTINGS async_insert = 0, distributed_foreground_insert = 1`,
    query_params: {
      id,
      state: state.state,
      ...range,
      rebuilt: state.state === "done" ? state.rebuilt : 0,
    },
  });
}

/** Requests the repair of all buckets within the range that differ. */
export async function requestRepair(
  clickhouse: ClickHouse,
  range: BucketRange,
): Promise<RepairRequest> {
  const request = { id: newUuid(), range };
  await append(clickhouse, request, { state: "requested" });
  return request;
}

/** Records that the repair has started, or is done. */
export const reportRepair = append;

/** Reads the state of a repair. */
export async function readRepair(clickhouse: ClickHouse, id: Uuid): Promise<RepairState> {
  const rows = await queryRows<{ state: RepairState["state"]; rebuilt: string }>(
    clickhouse,
    "SELECT state, rebuilt FROM rollup_repairs WHERE id = {id: UUID}",
    { id },
  );
  const done = rows.find(({ state }) => state === "done");
  if (done !== undefined) return { state: "done", rebuilt: Number(done.rebuilt) };
  return { state: rows.some(({ state }) => state === "started") ? "started" : "requested" };
}

/**
 * Reads the open requests: new ones, and those that an earlier owner started and did not finish.
 */
export async function readRequests(clickhouse: ClickHouse): Promise<RepairRequest[]> {
  const rows = await queryRows<{ id: Uuid; from: number; to: number }>(
    clickhouse,
    `SELECT id, any(range_from) AS from, any(range_to) AS to
       FROM rollup_repairs
      GROUP BY id
     HAVING countIf(state = 'done') = 0
        AND (maxIf(at, state = 'requested') > now64(3) - INTERVAL {requested: UInt32} SECOND
             OR maxIf(at, state = 'started') > now64(3) - INTERVAL {started: UInt32} SECOND)
      ORDER BY min(at)`,
    { requested: REQUEST_SECONDS_MAX, started: STARTED_SECONDS_MAX },
  );
  return rows.map(({ id, from, to }) => ({ id, range: { from, to } }));
}
