/**
 * The time since which raw clicks are whole: before it, retention may have deleted some of them,
 * and only rollups have their counts. Rollups may be compared only with whole clicks, or they would
 * look too high.
 *
 * It is the later of two times. One follows from the TTL of the table, by which ClickHouse deletes,
 * not from the configuration. The other is remembered from earlier TTLs: a TTL that is raised or
 * removed does not bring back the clicks that the earlier one deleted.
 */
import { DAY_SECONDS, HOUR_SECONDS } from "../durations.ts";
import { type ClickHouse, type ClickHouseReader, queryRows } from "./query.ts";

/**
 * By how much a click must be younger than the TTL to count as retained: ClickHouse's clock may
 * have been ahead when it merged parts, and a comparison takes a while.
 */
export const RETENTION_MARGIN_SECONDS = 2 * HOUR_SECONDS;

/** The retention of clicks, as read from ClickHouse. */
export type RetentionState = {
  /** Its clock, in Unix seconds. */
  now: number;
  /**
   * Days of the current TTL, 0 without one; undefined for a TTL of another form, which only an
   * operator can have set.
   */
  days: number | undefined;
  /** The last remembered TTL; undefined if none is remembered yet. */
  remembered: RememberedTtl | undefined;
};

/**
 * The time in Unix seconds since which clicks are whole. It is Infinity when it is unknown: the TTL
 * has another form, or none is remembered yet.
 */
export function wholeFromOf({ now, days, remembered }: RetentionState): number {
  if (days === undefined || remembered === undefined) return Infinity;
  const wholeFrom = Math.max(deletedBefore(now, [days, remembered.days]), remembered.wholeFrom);
  return wholeFrom === 0 ? 0 : wholeFrom + RETENTION_MARGIN_SECONDS;
}

/**
 * The time before which clicks may have been deleted, if any of these TTLs, in days, was in force
 * until now: when a TTL has changed, the earlier one may have been in force until a moment ago.
 */
function deletedBefore(now: number, days: readonly number[]): number {
  const shortest = Math.min(...days.filter((count) => count > 0));
  return Math.max(0, now - shortest * DAY_SECONDS);
}

/** Reads the time since which clicks are whole, see {@link wholeFromOf}. */
export const readWholeFrom = async (clickhouse: ClickHouseReader): Promise<number> =>
  wholeFromOf(await readRetention(clickhouse));

/** A remembered TTL in days, and the time since which clicks were whole when it was remembered. */
type RememberedTtl = { days: number; wholeFrom: number };

/**
 * The TTL to remember now; undefined if it is remembered already. `firstWholeDay` returns since
 * when clicks seem whole, for the first time that one is remembered.
 */
export async function nextRemembered(
  { now, days, remembered }: RetentionState,
  firstWholeDay: () => Promise<number>,
): Promise<RememberedTtl | undefined> {
  if (days === undefined || days === remembered?.days) return undefined;
  const known = remembered ?? { days, wholeFrom: await firstWholeDay() };
  return {
    days,
    wholeFrom: Math.max(deletedBefore(now, [days, known.days]), known.wholeFrom),
  };
}

/**
 * Remembers the current TTL unless it is remembered already. Called before and after each change of
 * it, and regularly, in case an operator changes it by hand.
 */
export async function rememberRetention(clickhouse: ClickHouse): Promise<void> {
  const state = await readRetention(clickhouse);
  const entry = await nextRemembered(state, () => findFirstWholeDay(clickhouse));
  if (entry !== undefined) await remember(clickhouse, entry);
}

/**
 * Remembers that clicks before a time, in Unix seconds, may be gone: rollups of theirs were
 * restored from a backup.
 */
export async function rememberDeleted(clickhouse: ClickHouse, before: number): Promise<void> {
  const { remembered } = await readRetention(clickhouse);
  if (remembered === undefined) throw new Error("The schema of ClickHouse is not up to date.");
  if (before > remembered.wholeFrom)
    await remember(clickhouse, { days: remembered.days, wholeFrom: before });
}

async function remember(clickhouse: ClickHouse, entry: RememberedTtl): Promise<void> {
  await clickhouse.command({
    query: `
      INSERT INTO clicks_retention (number, days, whole_from)
      SELECT (SELECT max(number) + 1 FROM clicks_retention), {days: UInt32}, fromUnixTimestamp({from: UInt32})
      SETTINGS async_insert = 0, distributed_foreground_insert = 1`,
    query_params: { days: entry.days, from: entry.wholeFrom },
  });
}

/** A TTL in the form that `setRetention` writes. */
const TTL = /^toDateTime\(ts\) \+ toIntervalDay\((\d+)\)$/;

async function readRetention(clickhouse: ClickHouseReader): Promise<RetentionState> {
  // On a cluster, a shard's table has the TTL.
  const tables = await queryRows<{ ttl: string; now: number }>(
    clickhouse,
    `SELECT extract(engine_full, 'TTL (.*?) SETTINGS') AS ttl, toUnixTimestamp(now()) AS now FROM system.tables
      WHERE database = currentDatabase() AND name IN ('clicks', 'clicks_local')`,
  );
  const [first] = tables;
  if (first === undefined) throw new Error("The table clicks does not exist, or may not be seen.");
  const [last] = await queryRows<{ days: number; whole_from: number }>(
    clickhouse,
    `SELECT days, toUnixTimestamp(whole_from) AS whole_from FROM clicks_retention
      ORDER BY number DESC, whole_from DESC LIMIT 1`,
  );
  const ttl = tables.map((table) => table.ttl).find((text) => text !== "");
  const days = ttl === undefined ? "0" : TTL.exec(ttl)?.[1];
  return {
    now: first.now,
    days: days === undefined ? undefined : Number(days),
    remembered: last === undefined ? undefined : { days: last.days, wholeFrom: last.whole_from },
  };
}

/**
 * The end of the last day before today of which rollups have more clicks than the table of clicks;
 * 0 if there is none. Before a TTL is remembered, an unknown one may have been in force. Today's
 * clicks are younger than any retention.
 */
async function findFirstWholeDay(clickhouse: ClickHouse): Promise<number> {
  const [row] = await queryRows<{ day: number }>(
    clickhouse,
    `SELECT toUnixTimestamp(max(bucket)) AS day
       FROM (
         SELECT bucket
           FROM (
             SELECT toStartOfDay(ts) AS bucket, toInt64(count()) AS clicks FROM clicks GROUP BY bucket
             UNION ALL
             SELECT bucket, -toInt64(sum(clicks)) FROM clicks_1d GROUP BY bucket
           )
          WHERE bucket < toStartOfDay(now('UTC'))
          GROUP BY bucket
         HAVING sum(clicks) < 0
       )`,
  );
  const day = row?.day ?? 0;
  return day === 0 ? 0 : day + DAY_SECONDS;
}
