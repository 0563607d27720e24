/**
 * From when on single clicks are whole: before, retention may have deleted some of them, and rollups are all that is left
 * of these. Nothing may be compared with clicks that are not whole, as a rollup would look too high.
 *
 * Two things tell, and the later time wins. The TTL that is in force on the table, not the configuration: ClickHouse
 * deletes by it. And what is remembered of retention before: a TTL that is raised or removed does not bring back what
 * the one before had deleted.
 */
import { type ClickHouse, queryRows } from "./query.ts";

/**
 * How much younger than the TTL a click must be to count as certain: ClickHouse's clock may have been ahead when it merged
 * parts, and a comparison takes a while.
 */
export const RETENTION_MARGIN_SECONDS = 2 * 3_600;

const DAY_SECONDS = 86_400;

/** What ClickHouse says of the retention of clicks. */
export type RetentionState = {
  /** Its clock, in Unix seconds. */
  now: number;
  /** Days of the TTL in force, 0 without one; undefined for a TTL that only an operator can have set, of another form. */
  days: number | undefined;
  /** What is remembered: the days last seen, and since when clicks were whole then; undefined if nothing is yet. */
  remembered: Remembered | undefined;
};

/**
 * The time, in Unix seconds, from which on clicks are whole. Infinity means that it is not known: a TTL of a form that
 * only an operator can have set, or nothing remembered yet.
 */
export function wholeFromOf({ now, days, remembered }: RetentionState): number {
  if (days === undefined || remembered === undefined) return Infinity;
  const wholeFrom = Math.max(deletedBefore(now, [days, remembered.days]), remembered.wholeFrom);
  return wholeFrom === 0 ? 0 : wholeFrom + RETENTION_MARGIN_SECONDS;
}

/**
 * The time before which clicks may have been deleted, if the TTL had one of these numbers of days until now: when it is
 * found changed, the one before may have been in force until this moment.
 */
function deletedBefore(now: number, days: readonly number[]): number {
  const shortest = Math.min(...days.filter((count) => count > 0));
  return Math.max(0, now - shortest * DAY_SECONDS);
}

/** Reads from when on clicks are whole, as {@link wholeFromOf}. */
export const readWholeFrom = async (clickhouse: Pick<ClickHouse, "query">): Promise<number> =>
  wholeFromOf(await readRetention(clickhouse));

/** What is remembered of the retention of clicks. */
type Remembered = { days: number; wholeFrom: number };

/**
 * What must be remembered now; undefined if nothing must. `firstWholeDay` says from when on clicks seem whole, where
 * nothing is remembered yet.
 */
export async function nextRemembered(
  { now, days, remembered }: RetentionState,
  firstWholeDay: () => Promise<number>,
): Promise<Remembered | undefined> {
  if (days === undefined || days === remembered?.days) return undefined;
  const known = remembered ?? { days, wholeFrom: await firstWholeDay() };
  return {
    days,
    wholeFrom: Math.max(deletedBefore(now, [days, known.days]), known.wholeFrom),
  };
}

/**
 * Remembers the retention that is in force, if it is not the one remembered: before and after each change of it, and
 * regularly, in case an operator changes it by hand.
 */
export async function rememberRetention(clickhouse: ClickHouse): Promise<void> {
  const state = await readRetention(clickhouse);
  const entry = await nextRemembered(state, () => findFirstWholeDay(clickhouse));
  if (entry === undefined) return;
  await clickhouse.command({
    query: `
      INSERT INTO clicks_retention (number, days, whole_from)
      SELECT (SELECT max(number) + 1 FROM clicks_retention), {days: UInt32}, fromUnixTimestamp({from: UInt32})
      SETTINGS async_insert = 0, distributed_foreground_insert = 1`,
    query_params: { days: entry.days, from: entry.wholeFrom },
  });
}

/** The TTL as `setRetention` writes it. */
const TTL = /^toDateTime\(ts\) \+ toIntervalDay\((\d+)\)$/;

async function readRetention(clickhouse: Pick<ClickHouse, "query">): Promise<RetentionState> {
  // On a cluster the table of a shard has the TTL.
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
 * The end of the last day before today of which rollups have more clicks than there are: where nothing is remembered,
 * another retention may have been in force before. 0 if there is none. Today's clicks are younger than any retention.
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
