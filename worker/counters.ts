/**
 * Writes the counters of links to PostgreSQL: the absolute totals of every link with new clicks, so that a repeated or lost
 * write does no harm. A counter never decreases, except by the clicks that a repair of rollups removed. The totals of a link
 * are sums of its days: at most three rows for each day with clicks, however many these are.
 */
import type postgres from "postgres";

import type { ClickHouse, Difference } from "../shared/clicks/rollups.ts";
import type { Uuid } from "../shared/ids.ts";
import type { Log } from "../shared/log.ts";

/** Time between two writes. */
const FLUSH_INTERVAL_MS = 1_000;

/** Links written with one statement. */
const BATCH = 1_000;

/**
 * Up to this many clicks of all classes, a link's `unique_clicks` is the exact number of distinct visitors; beyond, it is
 * estimated from the rollup (0.8 % error). The API's `ANALYTICS_EXACT_CLICKS_MAX` (api/analytics/sources.ts) is higher, as the
 * API counts on request and this after every click. Between the two limits, `unique_clicks` can differ from the exact
 * analytics by 0.8 %; above both, both are estimates.
 */
const COUNTERS_EXACT_CLICKS_MAX = 10_000;

/**
 * Up to this many visitors, the rollup's number is exact as well: a state is a set of up to 512 hashes before it becomes an
 * estimate, which is off by less than the difference. So the raw clicks of most links are not read.
 */
const EXACT_STATE_VISITORS_MAX = 400;

/** Links with clicks within this time are counted again when a worker starts or takes over. */
const RECENT_HOURS = 72;

/** The rollup that counters are read from. */
const SOURCE = "clicks_1d";

/** Clicks that a repair removed from the rollups, and that the link's counter may still contain. */
type Surplus = { clicks: number; bots: number };

type Totals = { link_id: Uuid; clicks: number; unique_clicks: number; bot_clicks: number };

export type Counters = {
  /** Marks links whose clicks have changed. */
  touch(linkIds: Iterable<Uuid>): void;
  /** Marks the links whose rollups were rebuilt, and lowers their counters by the surplus. */
  correct(rebuilt: readonly Difference[]): void;
  /** Counts every link with recent clicks again, in case a worker ended before it wrote them. */
  recount(): void;
  /** Links whose counters are not written yet. */
  pending(): number;
  /** `ok`, or why the last write failed. */
  state(): string;
  /** When all pending links were last written, in Unix milliseconds; undefined before. */
  writtenAt(): number | undefined;
  /** Writes the pending links once, and stops. */
  stop(): Promise<void>;
};

/** The part of ClickHouse that counters use: they only read. */
type CountersClickHouse = Pick<ClickHouse, "query">;

type CountersDeps = {
  sql: postgres.Sql;
  clickhouse: CountersClickHouse;
  log: Log;
  flushIntervalMs?: number;
};

export function startCounters({
  sql,
  clickhouse,
  log,
  flushIntervalMs = FLUSH_INTERVAL_MS,
}: CountersDeps): Counters {
  const touched = new Set<Uuid>();
  const surplus = createSurplus();
  const catchUp = createCatchUp(clickhouse);
  let state = "not written yet";
  let writtenAt: number | undefined;
  let stopped = false;

  async function flush(): Promise<void> {
    for (const linkId of await catchUp.readLinks()) touched.add(linkId);
    while (touched.size > 0) {
      const batch = [...touched].slice(0, BATCH);
      // Before the read: a click that is stored during it adds its link again.
      for (const linkId of batch) touched.delete(linkId);
      const taken = surplus.take(batch);
      try {
        await writeTotals(sql, await readTotals(clickhouse, batch), taken);
      } catch (error) {
        for (const linkId of batch) touched.add(linkId);
        for (const [linkId, { clicks, bots }] of taken) surplus.add(linkId, clicks, bots);
        throw error;
      }
    }
    state = "ok";
    writtenAt = Date.now();
  }

  async function flushOnce(): Promise<void> {
    try {
      await flush();
    } catch (error) {
      state = "counters wait for PostgreSQL or ClickHouse";
      log.warn({ error, waiting: touched.size }, "counters_not_written");
    }
  }

  async function run(): Promise<void> {
    while (!stopped) {
      await flushOnce();
      await Bun.sleep(flushIntervalMs);
    }
  }

  const running = run();
  return {
    touch(linkIds) {
      for (const linkId of linkIds) touched.add(linkId);
    },
    correct(rebuilt) {
      for (const { table, subject, humans, bots } of rebuilt) {
        if (table !== SOURCE) continue;
        if (humans < 0 || bots < 0) surplus.add(subject, Math.max(0, -humans), Math.max(0, -bots));
        touched.add(subject);
      }
    },
    recount: catchUp.reset,
    pending: () => touched.size,
    state: () => state,
    writtenAt: () => writtenAt,
    async stop() {
      stopped = true;
      await running;
      await flushOnce();
    },
  };
}

/** The surplus of links whose counters have not been lowered yet. */
function createSurplus() {
  const surplus = new Map<Uuid, Surplus>();
  return {
    add(linkId: Uuid, clicks: number, bots: number): void {
      const before = surplus.get(linkId) ?? { clicks: 0, bots: 0 };
      surplus.set(linkId, { clicks: before.clicks + clicks, bots: before.bots + bots });
    },
    /** Returns the surplus of these links, and forgets it. */
    take(linkIds: readonly Uuid[]): Map<Uuid, Surplus> {
      const taken = new Map<Uuid, Surplus>();
      for (const linkId of linkIds) {
        const found = surplus.get(linkId);
        if (found === undefined) continue;
        taken.set(linkId, found);
        surplus.delete(linkId);
      }
      return taken;
    },
  };
}

/** Reads the links with recent clicks: once, and again after a reset. */
function createCatchUp(clickhouse: CountersClickHouse) {
  let caughtUp = false;
  return {
    reset: (): void => void (caughtUp = false),
    async readLinks(): Promise<readonly Uuid[]> {
      if (caughtUp) return [];
      // Before the read: a reset during it must cause another one.
      caughtUp = true;
      try {
        return await readRecentLinks(clickhouse);
      } catch (error) {
        caughtUp = false;
        throw error;
      }
    },
  };
}

async function readRecentLinks(clickhouse: CountersClickHouse): Promise<Uuid[]> {
  const result = await clickhouse.query({
    query: `SELECT DISTINCT link_id FROM ${SOURCE} WHERE bucket > now() - INTERVAL {hours: UInt32} HOUR - INTERVAL 1 DAY`,
    query_params: { hours: RECENT_HOURS },
    format: "JSONEachRow",
  });
  return (await result.json<{ link_id: Uuid }>()).map((row) => row.link_id);
}

async function readTotals(clickhouse: CountersClickHouse, linkIds: Uuid[]): Promise<Totals[]> {
  const result = await clickhouse.query({
    query: `
      SELECT link_id,
             sumIf(clicks, class = 'human') AS human_clicks,
             sumIf(clicks, class = 'bot') AS bot_clicks,
             sum(clicks) AS all_clicks,
             uniqCombined64MergeIf(14)(visitors, class = 'human') AS visitors
        FROM ${SOURCE}
       WHERE link_id IN {link_ids: Array(UUID)}
       GROUP BY link_id`,
    query_params: { link_ids: linkIds },
    format: "JSONEachRow",
  });
  const rows = await result.json<TotalsRow>();
  const toCount = rows.filter(
    (row) =>
      Number(row.visitors) > EXACT_STATE_VISITORS_MAX &&
      Number(row.all_clicks) <= COUNTERS_EXACT_CLICKS_MAX,
  );
  const exact = await countVisitors(
    clickhouse,
    toCount.map((row) => row.link_id),
  );
  return rows.map((row) => ({
    link_id: row.link_id,
    clicks: Number(row.human_clicks),
    unique_clicks: exact.get(row.link_id) ?? Number(row.visitors),
    bot_clicks: Number(row.bot_clicks),
  }));
}

type TotalsRow = Record<
  "link_id" | "human_clicks" | "bot_clicks" | "all_clicks" | "visitors",
  string
>;

/** Counts the visitors of links with at most {@link COUNTERS_EXACT_CLICKS_MAX} raw clicks each. */
async function countVisitors(
  clickhouse: CountersClickHouse,
  linkIds: Uuid[],
): Promise<Map<Uuid, number>> {
  if (linkIds.length === 0) return new Map();
  const result = await clickhouse.query({
    query: `
      SELECT link_id, uniqExact(visitor) AS visitors
        FROM clicks
       WHERE link_id IN {link_ids: Array(UUID)} AND class = 'human'
       GROUP BY link_id`,
    query_params: { link_ids: linkIds },
    format: "JSONEachRow",
  });
  const rows = await result.json<{ link_id: Uuid; visitors: string }>();
  return new Map(rows.map((row) => [row.link_id, Number(row.visitors)]));
}

/**
 * Skips links that were deleted meanwhile: they have no row to update. A counter decreases by the surplus at most, and never
 * below the totals: if rollups have expired, only the counter still has their clicks.
 */
async function writeTotals(
  sql: postgres.Sql,
  totals: Totals[],
  surplus: ReadonlyMap<Uuid, Surplus>,
): Promise<void> {
  if (totals.length === 0) return;
  const clicksTaken = totals.map((row) => surplus.get(row.link_id)?.clicks ?? 0);
  const botsTaken = totals.map((row) => surplus.get(row.link_id)?.bots ?? 0);
  await sql`
    update link_counters counters
       set clicks = greatest(counters.clicks - clicks_taken, totals.clicks),
           unique_clicks = case
             when clicks_taken = 0 then greatest(counters.unique_clicks, totals.unique_clicks)
             else least(greatest(counters.unique_clicks, totals.unique_clicks),
                        greatest(counters.clicks - clicks_taken, totals.clicks))
           end,
           bot_clicks = greatest(counters.bot_clicks - bots_taken, totals.bot_clicks)
      from unnest(${totals.map((row) => row.link_id)}::uuid[], ${totals.map((row) => row.clicks)}::bigint[],
                  ${totals.map((row) => row.unique_clicks)}::bigint[], ${totals.map((row) => row.bot_clicks)}::bigint[],
                  ${clicksTaken}::bigint[], ${botsTaken}::bigint[])
           as totals (link_id, clicks, unique_clicks, bot_clicks, clicks_taken, bots_taken)
     where counters.link_id = totals.link_id`;
}
