/**
 * The counters of an import's links. Workers write those of links with live clicks as these are
 * stored; imported ones would be in their way. So an import writes its links' when all is stored,
 * and takes them back when it is undone.
 */
import { type ClickHouseReader, queryRows } from "../../shared/clicks/query.ts";
import { NO_TOTALS, readTotals, TOTALS_TABLE } from "../../shared/clicks/totals.ts";
import type { Uuid } from "../../shared/ids.ts";
import { errorCode, type Sql } from "../postgres.ts";
import {
  findKeptLinks,
  type ImportRow,
  type LinkFigures,
  lowerCounters,
  noteDeletedClicks,
  raiseCounters,
} from "./sql.ts";

/** Links of one statement. */
const LINKS_AT_ONCE = 500;

/** The SQLSTATE of a transaction that was ended for another to go on, and attempts of one. */
const DEADLOCK = "40P01";
const ATTEMPTS_MAX = 20;

export class ImportCounters {
  readonly #sql: Sql;
  readonly #clickhouse: ClickHouseReader;

  constructor(sql: Sql, clickhouse: ClickHouseReader) {
    this.#sql = sql;
    this.#clickhouse = clickhouse;
  }

  /** Writes the totals of all links of an import. */
  async raise({ id }: ImportRow): Promise<void> {
    for await (const links of this.#links(id)) {
      const figures = await readFigures(this.#clickhouse, links);
      await retryDeadlock(() => raiseCounters(this.#sql, figures));
    }
  }

  /** Notes how many clicks the links of an import lose with it. */
  async noteLosses({ id, number }: ImportRow): Promise<void> {
    for await (const links of this.#links(id))
      await noteDeletedClicks(this.#sql, id, await this.#readLosses(links, number));
  }

  /** Takes from counters what was noted, when the clicks are deleted; returns how many are left. */
  async lower({ id }: ImportRow): Promise<number> {
    let left = 0;
    for await (const links of this.#links(id)) {
      left += links.length;
      const figures = await readFigures(this.#clickhouse, links);
      await retryDeadlock(() => lowerCounters(this.#sql, id, figures));
    }
    return left;
  }

  /** The links of an import that are still there, some at a time. */
  async *#links(id: Uuid): AsyncGenerator<Uuid[]> {
    for (let after = ""; ;) {
      const links = await findKeptLinks(this.#sql, id, after, LINKS_AT_ONCE);
      const last = links.at(-1);
      if (last === undefined) return;
      yield links.map(({ link_id }) => link_id);
      after = last.source_id;
    }
  }

  /** The clicks that links have of an import. */
  async #readLosses(links: readonly Uuid[], number: number): Promise<LinkFigures[]> {
    const rows = await queryRows<{ link_id: Uuid; humans: string; bots: string }>(
      this.#clickhouse,
      `SELECT link_id, sumIf(clicks, class = 'human') AS humans, sumIf(clicks, class = 'bot') AS bots
         FROM ${TOTALS_TABLE}
        WHERE link_id IN {links: Array(UUID)} AND import = {import: UInt32}
        GROUP BY link_id`,
      { links, import: number },
    );
    return rows.map(({ link_id, humans, bots }) => ({
      link_id,
      clicks: Number(humans),
      unique_clicks: 0,
      bot_clicks: Number(bots),
      last_click: 0,
    }));
  }
}

/** What links have now. */
export async function readFigures(
  clickhouse: ClickHouseReader,
  links: readonly Uuid[],
): Promise<LinkFigures[]> {
  const totals = await readTotals(clickhouse, links);
  const lastClicks = await readLastClicks(clickhouse, links);
  return links.map((link_id) => ({
    link_id,
    ...(totals.get(link_id) ?? NO_TOTALS),
    last_click: lastClicks.get(link_id) ?? 0,
  }));
}

/**
 * Last clicks by people, in Unix milliseconds; where retention has deleted them, the begin of their
 * day.
 */
async function readLastClicks(
  clickhouse: ClickHouseReader,
  links: readonly Uuid[],
): Promise<Map<Uuid, number>> {
  const rows = await queryRows<{ link_id: Uuid; last_click: string }>(
    clickhouse,
    `SELECT link_id, max(at) AS last_click
       FROM (
         SELECT link_id, toUnixTimestamp64Milli(max(ts)) AS at FROM clicks
          WHERE link_id IN {links: Array(UUID)} AND class = 'human' GROUP BY link_id
         UNION ALL
         SELECT link_id, toInt64(toUnixTimestamp(max(bucket))) * 1000 AS at FROM ${TOTALS_TABLE}
          WHERE link_id IN {links: Array(UUID)} AND class = 'human' GROUP BY link_id
       )
      GROUP BY link_id`,
    { links },
  );
  return new Map(rows.map(({ link_id, last_click }) => [link_id, Number(last_click)]));
}

/** Workers write the counters of the same links, in another order. */
export async function retryDeadlock<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (errorCode(error) !== DEADLOCK || attempt === ATTEMPTS_MAX) throw error;
    }
  }
}
