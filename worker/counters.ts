/**
 * Writes the counters of links to PostgreSQL: absolute totals, so that a repeated or lost write
 * does no harm. A counter never decreases, except by the clicks that a repair of rollups removed. A
 * link's totals are sums of its days: at most three rows for each day with clicks. Its last click
 * is the latest that this worker has stored; of another worker's clicks, it is in ClickHouse.
 */
import type postgres from "postgres";

import { queryRows } from "../shared/clicks/query.ts";
import type { ClickHouse, Difference } from "../shared/clicks/rollups.ts";
import { HOUR_SECONDS } from "../shared/durations.ts";
import type { Uuid } from "../shared/ids.ts";
import type { Log } from "../shared/log.ts";
import { readLastClicks } from "./last-clicks.ts";
import {
  type ClickedLink,
  createPendingLinks,
  knownByRepair,
  type PendingLink,
} from "./pending-links.ts";

/** Time between two writes. */
const FLUSH_INTERVAL_MS = 1_000;

/** Links written with one statement. */
const BATCH = 1_000;

/**
 * Up to this many clicks of all classes, a link's `unique_clicks` is the exact number of distinct
 * visitors; beyond, it is estimated from the rollup (0.8 % error). The API's
 * `ANALYTICS_EXACT_CLICKS_MAX` (api/analytics/plan.ts) is higher, as the API counts on request
 * and this after every click. Between the two limits, `unique_clicks` can differ from the exact
 * analytics by 0.8 %; above both, both are estimates.
 */
const COUNTERS_EXACT_CLICKS_MAX = 10_000;

/**
 * Up to this many visitors, the rollup's number is exact as well: a state is a set of up to 512
 * hashes before it becomes an estimate. So the raw clicks of most links are not read.
 */
const EXACT_STATE_VISITORS_MAX = 400;

/**
 * Links with clicks within 72 hours are counted again when a worker starts or takes over. Buckets
 * of the rollup begin up to a day before their clicks.
 */
const RECENT_SECONDS = (72 + 24) * HOUR_SECONDS;

/** The rollup that counters are read from. */
const SOURCE = "clicks_1d";

type Totals = { clicks: number; unique_clicks: number; bot_clicks: number };

/** Of a link without clicks. */
const NO_TOTALS: Totals = { clicks: 0, unique_clicks: 0, bot_clicks: 0 };

export type Counters = {
  /** Marks links that this worker has stored clicks of. */
  touch(links: Iterable<ClickedLink>): void;
  /** Marks the links whose rollups were rebuilt, and lowers their counters by the surplus. */
  correct(rebuilt: readonly Difference[]): void;
  /** Counts links with recent clicks again, in case another worker stored some and wrote none. */
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
  const links = createPendingLinks();
  const catchUp = createCatchUp(clickhouse);
  let state = "not written yet";
  let writtenAt: number | undefined;
  let stopped = false;

  async function flush(): Promise<void> {
    const found = await catchUp.readLinks();
    const unknownSince = Math.floor(Date.now() / 1_000) - RECENT_SECONDS;
    for (const linkId of found) links.add(linkId, { unknownSince });
    while (links.count() > 0) {
      // Before the read: a click that is stored during it adds its link again.
      const batch = links.take(BATCH);
      try {
        await writeBatch(sql, clickhouse, batch);
      } catch (error) {
        for (const [linkId, known] of batch) links.add(linkId, known);
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
      log.warn({ error, waiting: links.count() }, "counters_not_written");
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
    touch(clicked) {
      for (const { linkId, lastClick } of clicked) links.add(linkId, { lastClick });
    },
    correct(rebuilt) {
      for (const difference of rebuilt)
        if (difference.table === SOURCE) links.add(difference.subject, knownByRepair(difference));
    },
    recount: catchUp.reset,
    pending: links.count,
    state: () => state,
    writtenAt: () => writtenAt,
    async stop() {
      stopped = true;
      await running;
      await flushOnce();
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
  const rows = await queryRows<{ link_id: Uuid }>(
    clickhouse,
    `SELECT DISTINCT link_id FROM ${SOURCE} WHERE bucket > now() - INTERVAL {seconds: UInt32} SECOND`,
    { seconds: RECENT_SECONDS },
  );
  return rows.map((row) => row.link_id);
}

async function writeBatch(
  sql: postgres.Sql,
  clickhouse: CountersClickHouse,
  batch: ReadonlyMap<Uuid, PendingLink>,
): Promise<void> {
  const totals = await readTotals(clickhouse, [...batch.keys()]);
  const found = await readUnknownClicks(clickhouse, batch);
  const rows = [...batch].map(([linkId, { lastClick, surplusClicks, surplusBots }]) => ({
    link_id: linkId,
    ...(totals.get(linkId) ?? NO_TOTALS),
    last_click: Math.max(lastClick, found.get(linkId) ?? 0),
    clicks_taken: surplusClicks,
    bots_taken: surplusBots,
  }));
  await write(sql, rows);
}

/** Reads the last clicks of those links of which another worker may have stored clicks. */
async function readUnknownClicks(
  clickhouse: CountersClickHouse,
  batch: ReadonlyMap<Uuid, PendingLink>,
): Promise<Map<Uuid, number>> {
  const unknown = [...batch].filter(([, { unknownSince }]) => unknownSince !== Infinity);
  if (unknown.length === 0) return new Map();
  const since = Math.min(...unknown.map(([, { unknownSince }]) => unknownSince));
  const linkIds = unknown.map(([linkId]) => linkId);
  return await readLastClicks(clickhouse, linkIds, since);
}

async function readTotals(
  clickhouse: CountersClickHouse,
  linkIds: Uuid[],
): Promise<Map<Uuid, Totals>> {
  const rows = await queryRows<TotalsRow>(
    clickhouse,
    `SELECT link_id,
            sumIf(clicks, class = 'human') AS human_clicks,
            sumIf(clicks, class = 'bot') AS bot_clicks,
            sum(clicks) AS all_clicks,
            uniqCombined64MergeIf(14)(visitors, class = 'human') AS visitors
       FROM ${SOURCE}
      WHERE link_id IN {link_ids: Array(UUID)}
      GROUP BY link_id`,
    { link_ids: linkIds },
  );
  const toCount = rows.filter(
    (row) =>
      Number(row.visitors) > EXACT_STATE_VISITORS_MAX &&
      Number(row.all_clicks) <= COUNTERS_EXACT_CLICKS_MAX,
  );
  const exact = await countVisitors(
    clickhouse,
    toCount.map((row) => row.link_id),
  );
  return new Map(
    rows.map((row) => [
      row.link_id,
      {
        clicks: Number(row.human_clicks),
        unique_clicks: exact.get(row.link_id) ?? Number(row.visitors),
        bot_clicks: Number(row.bot_clicks),
      },
    ]),
  );
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
  const rows = await queryRows<{ link_id: Uuid; visitors: string }>(
    clickhouse,
    `SELECT link_id, uniqExact(visitor) AS visitors
       FROM clicks
      WHERE link_id IN {link_ids: Array(UUID)} AND class = 'human'
      GROUP BY link_id`,
    { link_ids: linkIds },
  );
  return new Map(rows.map((row) => [row.link_id, Number(row.visitors)]));
}

type CountersRow = Totals & {
  link_id: Uuid;
  /** Unix milliseconds; 0 if none is known. */
  last_click: number;
  /** The surplus of clicks and bots. */
  clicks_taken: number;
  bots_taken: number;
};

/**
 * Skips links that were deleted meanwhile. A counter decreases by the surplus at most, and never
 * below the totals: it alone has clicks whose rollups expired. The last click moves forward, to now
 * at most: a clock that is ahead would hide later clicks.
 */
async function write(sql: postgres.Sql, rows: readonly CountersRow[]): Promise<void> {
  const column = (name: Exclude<keyof CountersRow, "link_id">) =>
    sql`${rows.map((row) => row[name])}::bigint[]`;
  await sql`
    update link_counters counters
       set clicks = greatest(counters.clicks - clicks_taken, totals.clicks),
           unique_clicks = case
             when clicks_taken = 0 then greatest(counters.unique_clicks, totals.unique_clicks)
             else least(greatest(counters.unique_clicks, totals.unique_clicks),
                        greatest(counters.clicks - clicks_taken, totals.clicks))
           end,
           bot_clicks = greatest(counters.bot_clicks - bots_taken, totals.bot_clicks),
           last_click_at = greatest(counters.last_click_at, least(to_timestamp(last_click / 1000.0), now()))
      from unnest(${rows.map((row) => row.link_id)}::uuid[], ${column("clicks")}, ${column("unique_clicks")},
                  ${column("bot_clicks")}, ${column("last_click")}, ${column("clicks_taken")}, ${column("bots_taken")})
           as totals (link_id, clicks, unique_clicks, bot_clicks, last_click, clicks_taken, bots_taken)
     where counters.link_id = totals.link_id`;
}
