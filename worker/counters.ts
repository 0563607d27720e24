/**
 * Writes the counters of links to PostgreSQL: absolute totals, so that a repeated or lost write
 * does no harm. A counter never decreases, except by the clicks that a repair of rollups removed. A
 * link's totals are sums of its days: at most three rows for each day with clicks. Its last click
 * is the latest that this worker has stored; of another worker's clicks, it is in ClickHouse.
 */
import type postgres from "postgres";

import { type ClickHouseReader, clickTime, queryRows } from "../shared/clicks/query.ts";
import type { Difference } from "../shared/clicks/rollups.ts";
import { NO_TOTALS, readTotals, type Totals, TOTALS_TABLE } from "../shared/clicks/totals.ts";
import { HOUR_SECONDS } from "../shared/durations.ts";
import type { Uuid } from "../shared/ids.ts";
import type { Log } from "../shared/log.ts";
import { repeat, type Repetition } from "../shared/repeat.ts";
import type { Context } from "./context.ts";
import type { ClickedLink } from "./enrich/rows.ts";

/** Time between two writes. */
const FLUSH_INTERVAL_MS = 1_000;

/** Links written with one statement. */
const BATCH = 1_000;

/**
 * Links with clicks within 72 hours are counted again when a worker starts or takes over. Buckets
 * of the rollup begin up to a day before their clicks.
 */
const RECENT_SECONDS = (72 + 24) * HOUR_SECONDS;

export class Counters {
  readonly #sql: postgres.Sql;
  readonly #clickhouse: ClickHouseReader;
  readonly #log: Log;
  readonly #links = new PendingLinks();
  #flushes: Repetition | undefined;
  /** Whether links with recent clicks are among the pending ones, or were written. */
  #hasRecent = false;
  #state = "not written yet";
  #writtenAt: number | undefined;

  constructor({ sql, clickhouse, log }: Context) {
    this.#sql = sql;
    this.#clickhouse = clickhouse;
    this.#log = log;
  }

  /** Begins to write, once every `intervalMs`. */
  start(intervalMs = FLUSH_INTERVAL_MS): void {
    this.#flushes = repeat(async () => {
      await this.#flush();
      return intervalMs;
    });
  }

  /** `ok`, or why the last write failed. */
  get state(): string {
    return this.#state;
  }

  /** Links whose counters are not written yet. */
  get pending(): number {
    return this.#links.count;
  }

  /** When all pending links were last written, in Unix milliseconds; undefined before. */
  get writtenAt(): number | undefined {
    return this.#writtenAt;
  }

  /** Marks links that this worker has stored clicks of. */
  touch(clicked: Iterable<ClickedLink>): void {
    for (const { linkId, lastClick } of clicked) this.#links.add(linkId, { lastClick });
  }

  /** Marks the links whose rollups were rebuilt, and lowers their counters by the surplus. */
  correct(rebuilt: readonly Difference[]): void {
    for (const difference of rebuilt)
      if (difference.table === TOTALS_TABLE)
        this.#links.add(difference.subject, knownByRepair(difference));
  }

  /** Counts links with recent clicks again, in case another worker stored some and wrote none. */
  recount(): void {
    this.#hasRecent = false;
  }

  /** Writes the pending links once, and stops. */
  async stop(): Promise<void> {
    await this.#flushes?.stop();
    await this.#flush();
  }

  async #flush(): Promise<void> {
    try {
      await this.#addRecent();
      await this.#writePending();
      this.#state = "ok";
      this.#writtenAt = Date.now();
    } catch (error) {
      this.#state = "counters wait for PostgreSQL or ClickHouse";
      this.#log.warn({ error, waiting: this.pending }, "counters_not_written");
    }
  }

  /** Adds the links with recent clicks: once, and again after {@link Counters.recount}. */
  async #addRecent(): Promise<void> {
    if (this.#hasRecent) return;
    // Before the read: a recount during it must cause another one.
    this.#hasRecent = true;
    try {
      const unknownSince = Math.floor(Date.now() / 1_000) - RECENT_SECONDS;
      for (const linkId of await readRecentLinks(this.#clickhouse))
        this.#links.add(linkId, { unknownSince });
    } catch (error) {
      this.#hasRecent = false;
      throw error;
    }
  }

  async #writePending(): Promise<void> {
    while (this.pending > 0) {
      // Before the read: a click that is stored during it adds its link again.
      const batch = this.#links.take(BATCH);
      try {
        await writeCounters(this.#sql, await readCounters(this.#clickhouse, batch));
      } catch (error) {
        for (const [linkId, known] of batch) this.#links.add(linkId, known);
        throw error;
      }
    }
  }
}

/** A link with new clicks, as far as the worker knows it beside its totals in ClickHouse. */
type PendingLink = {
  /** The last click by a person, in Unix milliseconds; 0 if there is none. */
  lastClick: number;
  /** Since when others may have stored clicks, in Unix seconds; infinite if none has. */
  unknownSince: number;
  /** Clicks that a repair took from the rollups, and that the counters may still contain. */
  surplusClicks: number;
  surplusBots: number;
};

const NOTHING: PendingLink = {
  lastClick: 0,
  unknownSince: Infinity,
  surplusClicks: 0,
  surplusBots: 0,
};

/** A link as the repair of a bucket knows it. */
const knownByRepair = ({ bucket, missing, humans, bots }: Difference) => ({
  unknownSince: missing > 0 ? bucket : Infinity,
  surplusClicks: Math.max(0, -humans),
  surplusBots: Math.max(0, -bots),
});

/** Links whose counters are to be written; what is known of each adds up. */
class PendingLinks {
  readonly #links = new Map<Uuid, PendingLink>();

  get count(): number {
    return this.#links.size;
  }

  add(linkId: Uuid, known: Partial<PendingLink>): void {
    const before = this.#links.get(linkId) ?? NOTHING;
    const added = { ...NOTHING, ...known };
    this.#links.set(linkId, {
      lastClick: Math.max(before.lastClick, added.lastClick),
      unknownSince: Math.min(before.unknownSince, added.unknownSince),
      surplusClicks: before.surplusClicks + added.surplusClicks,
      surplusBots: before.surplusBots + added.surplusBots,
    });
  }

  /** Returns up to `max` links, those that have waited longest, and forgets them. */
  take(max: number): Map<Uuid, PendingLink> {
    const taken = new Map(this.#links.entries().take(max));
    for (const linkId of taken.keys()) this.#links.delete(linkId);
    return taken;
  }
}

async function readRecentLinks(clickhouse: ClickHouseReader): Promise<Uuid[]> {
  const rows = await queryRows<{ link_id: Uuid }>(
    clickhouse,
    `SELECT DISTINCT link_id FROM ${TOTALS_TABLE} WHERE bucket > now() - INTERVAL {seconds: UInt32} SECOND`,
    { seconds: RECENT_SECONDS },
  );
  return rows.map((row) => row.link_id);
}

async function readCounters(
  clickhouse: ClickHouseReader,
  batch: ReadonlyMap<Uuid, PendingLink>,
): Promise<CountersRow[]> {
  const totals = await readTotals(clickhouse, [...batch.keys()]);
  const found = await readUnknownClicks(clickhouse, batch);
  return [...batch].map(([linkId, { lastClick, surplusClicks, surplusBots }]) => ({
    link_id: linkId,
    ...(totals.get(linkId) ?? NO_TOTALS),
    last_click: Math.max(lastClick, found.get(linkId) ?? 0),
    clicks_taken: surplusClicks,
    bots_taken: surplusBots,
  }));
}

/**
 * Reads the last clicks, in Unix milliseconds, of those links of which another worker may have
 * stored clicks. No rollup has exact times: one more column in each would cost every insert.
 */
async function readUnknownClicks(
  clickhouse: ClickHouseReader,
  batch: ReadonlyMap<Uuid, PendingLink>,
): Promise<Map<Uuid, number>> {
  const unknown = [...batch].filter(([, { unknownSince }]) => unknownSince !== Infinity);
  if (unknown.length === 0) return new Map();
  const since = Math.min(...unknown.map(([, { unknownSince }]) => unknownSince));
  const rows = await queryRows<{ link_id: Uuid; last_click: string }>(
    clickhouse,
    `SELECT link_id, toUnixTimestamp64Milli(max(ts)) AS last_click
       FROM clicks
      WHERE link_id IN {link_ids: Array(UUID)} AND class = 'human' AND ts >= ${clickTime("since")}
      GROUP BY link_id`,
    { link_ids: unknown.map(([linkId]) => linkId), since },
  );
  return new Map(rows.map(({ link_id, last_click }) => [link_id, Number(last_click)]));
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
async function writeCounters(sql: postgres.Sql, rows: readonly CountersRow[]): Promise<void> {
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
