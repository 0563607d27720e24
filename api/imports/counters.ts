/**
 * The counters of the links of an import. Workers count live clicks as they store them, and leave
 * imported ones out, which would delay the counters of all other links. So an import raises the
 * counters of its links itself, once all its clicks are stored, and lowers them when it is undone.
 */
import { type ClickHouseReader, queryRows } from "../../shared/clicks/query.ts";
import { TOTALS_TABLE } from "../../shared/clicks/totals.ts";
import { NIL_UUID, type Uuid } from "../../shared/ids.ts";
import { lowerCounters, readFigures, readLosses, retryDeadlock } from "../clicks/link-counters.ts";
import type { Sql } from "../postgres.ts";
import { chunksOf, inOrder } from "./source.ts";
import { findKeptLinks, type ImportRow, noteLosses, raiseCounters, takeLosses } from "./sql.ts";

/** Maximum links of one statement, and of one query for links that have clicks. */
const LINKS_AT_ONCE = 1_000;
const CLICKED_AT_ONCE = 50_000;

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
    const condition = "link_id IN {links: Array(UUID)} AND import = {import: UInt32}";
    for await (const links of this.#links(id)) {
      const losses = await readLosses(this.#clickhouse, condition, { links, import: number });
      await noteLosses(this.#sql, id, losses);
    }
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
      await retryDeadlock(() =>
        this.#sql.begin(async (sql) => {
          await lowerCounters(sql, await takeLosses(sql, id, links), figures);
        }),
      );
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
}
