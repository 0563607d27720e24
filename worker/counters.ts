/**
 * Keeps the figures on links in PostgreSQL: absolute totals of every link with new clicks, so that a
 * repeat or a lost write leaves no trace, and figures never go down.
 */
import type { ClickHouseClient } from "@clickhouse/client";
import type postgres from "postgres";

import type { Uuid } from "../shared/ids.ts";
import type { Log } from "../shared/log.ts";

/** How late a figure may be. */
const FLUSH_INTERVAL_MS = 1_000;

/** Links written in one statement. */
const BATCH = 1_000;

/** Up to this many clicks distinct visitors are counted exactly; beyond, from the rollup (0.8 %). */
const EXACT_CLICKS_MAX = 10_000;

/** Links with clicks in this time are counted anew at the start: what a killed worker left undone. */
const RECENT_HOURS = 72;

type Totals = { link_id: Uuid; clicks: number; unique_clicks: number; bot_clicks: number };

export type Counters = {
  /** Notes that the figures of these links have changed. */
  touch(linkIds: Iterable<Uuid>): void;
  /** Links whose figures wait to be written. */
  waiting(): number;
  /** `ok`, or why the last write failed. */
  state(): string;
  /** Writes what waits, once, and stops. */
  stop(): Promise<void>;
};

type CountersDeps = { sql: postgres.Sql; clickhouse: ClickHouseClient; log: Log };

export function startCounters({ sql, clickhouse, log }: CountersDeps): Counters {
  const touched = new Set<Uuid>();
  let state = "not written yet";
  let caughtUp = false;
  let stopped = false;

  async function flush(): Promise<void> {
    if (!caughtUp) {
      for (const linkId of await recentLinks(clickhouse)) touched.add(linkId);
      caughtUp = true;
    }
    while (touched.size > 0) {
      const batch = [...touched].slice(0, BATCH);
      // Taken out first: a click that comes in meanwhile puts its link back.
      for (const linkId of batch) touched.delete(linkId);
      try {
        await writeTotals(sql, await readTotals(clickhouse, batch));
      } catch (error) {
        for (const linkId of batch) touched.add(linkId);
        throw error;
      }
    }
    state = "ok";
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
      await Bun.sleep(FLUSH_INTERVAL_MS);
    }
  }

  const running = run();
  return {
    touch(linkIds) {
      for (const linkId of linkIds) touched.add(linkId);
    },
    waiting: () => touched.size,
    state: () => state,
    async stop() {
      stopped = true;
      await running;
      await flushOnce();
    },
  };
}

async function recentLinks(clickhouse: ClickHouseClient): Promise<Uuid[]> {
  const result = await clickhouse.query({
    query: `SELECT DISTINCT link_id FROM clicks_15m WHERE bucket > now() - INTERVAL {hours: UInt32} HOUR`,
    query_params: { hours: RECENT_HOURS },
    format: "JSONEachRow",
  });
  return (await result.json<{ link_id: Uuid }>()).map((row) => row.link_id);
}

async function readTotals(clickhouse: ClickHouseClient, linkIds: Uuid[]): Promise<Totals[]> {
  const result = await clickhouse.query({
    query: `
      SELECT link_id,
             sumIf(clicks, class = 'human') AS human_clicks,
             sumIf(clicks, class = 'bot') AS bot_clicks,
             uniqCombined64MergeIf(14)(visitors, class = 'human') AS visitors
        FROM clicks_15m
       WHERE link_id IN {link_ids: Array(UUID)}
       GROUP BY link_id`,
    query_params: { link_ids: linkIds },
    format: "JSONEachRow",
  });
  const rows = await result.json<TotalsRow>();
  const totals = rows.map((row) => ({
    link_id: row.link_id,
    clicks: Number(row.human_clicks),
    unique_clicks: Number(row.visitors),
    bot_clicks: Number(row.bot_clicks),
  }));
  const few = totals.filter((row) => row.clicks <= EXACT_CLICKS_MAX).map((row) => row.link_id);
  const exact = await countVisitors(clickhouse, few);
  return totals.map((row) => ({
    ...row,
    unique_clicks: exact.get(row.link_id) ?? row.unique_clicks,
  }));
}

type TotalsRow = Record<"link_id" | "human_clicks" | "bot_clicks" | "visitors", string>;

async function countVisitors(
  clickhouse: ClickHouseClient,
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

/** Links deleted meanwhile have no row left, and are passed over. */
async function writeTotals(sql: postgres.Sql, totals: Totals[]): Promise<void> {
  if (totals.length === 0) return;
  await sql`
    update link_counters counters
       set clicks = greatest(counters.clicks, totals.clicks),
           unique_clicks = greatest(counters.unique_clicks, totals.unique_clicks),
           bot_clicks = greatest(counters.bot_clicks, totals.bot_clicks)
      from unnest(${totals.map((row) => row.link_id)}::uuid[], ${totals.map((row) => row.clicks)}::bigint[],
                  ${totals.map((row) => row.unique_clicks)}::bigint[], ${totals.map((row) => row.bot_clicks)}::bigint[])
           as totals (link_id, clicks, unique_clicks, bot_clicks)
     where counters.link_id = totals.link_id`;
}
