/**
 * The counters of the links of an import. Workers count live clicks as they store them, and leave
 * imported ones out, which would delay the counters of all other links. So an import raises the
 * counters of its links itself, once all its clicks are stored, and lowers them when it is undone.
 */
import { type ClickHouseReader, queryRows } from "../../shared/clicks/query.ts";
import { NO_TOTALS, readTotals, TOTALS_TABLE } from "../../shared/clicks/totals.ts";
import { NIL_UUID, type Uuid } from "../../shared/ids.ts";
import { errorCode, type Sql } from "../postgres.ts";
import { chunksOf, inOrder } from "./source.ts";
import {
  findKeptLinks,
  type ImportRow,
  type LinkFigures,
  lowerCounters,
  noteDeletedClicks,
  raiseCounters,
} from "./sql.ts";

/** Maximum links of one statement, and of one query for links that have clicks. */
const LINKS_AT_ONCE = 1_000;
const CLICKED_AT_ONCE = 50_000;

/** The SQLSTATE of a transaction that was aborted to resolve a deadlock, and maximum attempts. */
const DEADLOCK = "40P01";
const ATTEMPTS_MAX = 20;

export class ImportCounters {
  readonly #sql: Sql;
  readonly #clickhouse: ClickHouseReader;

  constructor(sql: Sql, clickhouse: ClickHouseReader) {
    this.#sql = sql;
    this.#clickhouse = clickhouse;
  }

  /** Writes the totals of the links that have clicks of an import. */
  async raise({ number }: ImportRow): Promise<void> {
    const read = (links: readonly Uuid[]) => readFigures(this.#clickhouse, links);
    for await (const [, figures] of inOrder(this.#clickedLinks(number), read))
      await retryDeadlock(() => raiseCounters(this.#sql, figures));
  }

  /**
   * Yields the links with clicks of an import, some at a time, in the order in which ClickHouse
   * sorts them: so the totals of these are close to each other.
   */
  async *#clickedLinks(number: number): AsyncGenerator<Uuid[]> {
    for (let after: Uuid | undefined = NIL_UUID; after !== undefined;) {
      const rows: { link_id: Uuid }[] = await queryRows(
        this.#clickhouse,
        `SELECT link_id FROM ${TOTALS_TABLE}
          WHERE import = {import: UInt32} AND link_id > {after: UUID}
          GROUP BY link_id ORDER BY link_id LIMIT {max: UInt32}`,
        { import: number, after, max: CLICKED_AT_ONCE },
      );
      const links = rows.map(({ link_id }) => link_id);
      yield* chunksOf(links, LINKS_AT_ONCE);
      after = links.length < CLICKED_AT_ONCE ? undefined : links.at(-1);
    }
  }

  /** Notes how many clicks the links of an import lose with it. */
  async noteLosses({ id, number }: ImportRow): Promise<void> {
    for await (const links of this.#links(id))
      await noteDeletedClicks(this.#sql, id, await this.#readLosses(links, number));
  }

  /**
   * Lowers the counters by the losses that were noted, after the clicks were deleted; returns how
   * many links remain.
   */
  async lower({ id }: ImportRow): Promise<number> {
    let left = 0;
    for await (const links of this.#links(id)) {
      left += links.length;
      const figures = await readFigures(this.#clickhouse, links);
      await retryDeadlock(() => lowerCounters(this.#sql, id, figures));
    }
    return left;
  }

  /** Yields the links of an import that still exist, some at a time. */
  async *#links(id: Uuid): AsyncGenerator<Uuid[]> {
    for (let after = ""; ;) {
      const links = await findKeptLinks(this.#sql, id, after, LINKS_AT_ONCE);
      const last = links.at(-1);
      if (last === undefined) return;
      yield links.map(({ link_id }) => link_id);
      after = last.source_id;
    }
  }

  /** Reads how many clicks of an import links have. */
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

/** Reads the totals and the last clicks of links, 0 for none. */
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
 * Reads the last clicks by people, in Unix milliseconds; where retention has deleted the click, the
 * start of its day.
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

/**
 * Repeats work that PostgreSQL aborted because of a deadlock: workers write the counters of the
 * same links in another order.
 */
export async function retryDeadlock<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (errorCode(error) !== DEADLOCK || attempt === ATTEMPTS_MAX) throw error;
    }
  }
}
