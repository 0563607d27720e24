/**
 * Takes an import back:
 *
 * 1. Links that it created are deleted, unless somebody has changed them since.
 * 2. Of the others it is noted how many clicks of the import they have.
 * 3. These clicks are deleted, from the table of clicks and from every rollup: all have the number
 *    of the import.
 * 4. The counters of the links that are left are lowered by them.
 *
 * Each step can be repeated, and a run that is killed is followed by another.
 */
import {
  type ClickHouse,
  type ClickHouseReader,
  clickTables,
  queryRows,
} from "../../shared/clicks/query.ts";
import { ROLLUP_TABLES } from "../../shared/clicks/rollup-tables.ts";
import type { Uuid } from "../../shared/ids.ts";
import { ApiError } from "../http/errors.ts";
import { OPERATOR } from "../http/principal.ts";
import type { LinkChanges } from "../links/change-links.ts";
import type { Sql } from "../postgres.ts";
import type { SegmentPublisher } from "./clicks.ts";
import {
  findKeptLinks,
  findRemovableLinks,
  holdImport,
  type ImportRow,
  type LinkFigures,
  lowerCounters,
  noteDeletedClicks,
  setImportState,
} from "./sql.ts";

/** Links of one statement. */
const LINKS_AT_ONCE = 500;

/** After this time no worker writes counters that it read before the clicks were deleted. */
const COUNTERS_MS = 5_000;

/** Time after which ClickHouse gives up the deletion from one table. */
const DELETION_SECONDS_MAX = 3_000;

/** What undoing an import did. */
export type Undone = { links_deleted: number; links_kept: number };

export class ImportUndo {
  readonly #sql: Sql;
  readonly #clickhouse: ClickHouse;
  readonly #changes: LinkChanges;
  readonly #publisher: SegmentPublisher;

  constructor(sql: Sql, clickhouse: ClickHouse, changes: LinkChanges, publisher: SegmentPublisher) {
    this.#sql = sql;
    this.#clickhouse = clickhouse;
    this.#changes = changes;
    this.#publisher = publisher;
  }

  /** Undoes an import. Throws while a process runs it. */
  async undo(row: ImportRow): Promise<Undone> {
    const undone: Undone = { links_deleted: 0, links_kept: 0 };
    const isHeld = await holdImport(this.#sql, row.number, async () => {
      // What a killed run has published must not be stored later.
      await this.#publisher.drainAll();
      undone.links_deleted = await this.#deleteLinks(row);
      if (row.state !== "undoing") await this.#noteClicks(row);
      await setImportState(this.#sql, row.id, "undoing");
      await this.#deleteClicks(row.number);
      await Bun.sleep(COUNTERS_MS);
      undone.links_kept = await this.#lowerCounters(row);
      await setImportState(this.#sql, row.id, "undone");
    });
    if (!isHeld) throw new Error("Another process is running this import.");
    return undone;
  }

  /** Deletes the links that the import created; returns how many. */
  async #deleteLinks({ id, account_id, mode }: ImportRow): Promise<number> {
    const owner = { accountId: account_id, mode, actor: OPERATOR, plan: "enterprise" };
    let deleted = 0;
    for (let after = ""; ;) {
      const found = await findRemovableLinks(this.#sql, id, after, LINKS_AT_ONCE);
      const last = found.at(-1);
      if (last === undefined) return deleted;
      const { results } = await this.#changes.remove(
        owner,
        found.map(({ link_id, version }) => ({
          id: link_id,
          requireVersion: (current: number) => requireSame(current, version),
        })),
      );
      deleted += results.filter((result) => "link" in result).length;
      after = last.source_id;
    }
  }

  async #noteClicks({ id, number }: ImportRow): Promise<void> {
    for await (const links of this.#keptLinks(id)) {
      const figures = await readFigures(
        this.#clickhouse,
        links,
        "import = {import: UInt32}",
        number,
      );
      await noteDeletedClicks(this.#sql, id, figures);
    }
  }

  async #deleteClicks(number: number): Promise<void> {
    const { suffix, onCluster } = await clickTables(this.#clickhouse);
    for (const { table } of [...ROLLUP_TABLES, { table: "clicks" }])
      await this.#clickhouse.command({
        query: `DELETE FROM ${table}${suffix} ${onCluster} WHERE import = {import: UInt32}
                SETTINGS lightweight_deletes_sync = 2, max_execution_time = ${DELETION_SECONDS_MAX}`,
        query_params: { import: number },
      });
  }

  /** Returns how many links are left. */
  async #lowerCounters({ id, number }: ImportRow): Promise<number> {
    let kept = 0;
    for await (const links of this.#keptLinks(id)) {
      kept += links.length;
      const left = await readFigures(this.#clickhouse, links, "import != {import: UInt32}", number);
      await lowerCounters(this.#sql, id, left);
    }
    return kept;
  }

  /** The links of the import that are still there, some at a time. */
  async *#keptLinks(id: Uuid): AsyncGenerator<Uuid[]> {
    for (let after = ""; ;) {
      const links = await findKeptLinks(this.#sql, id, after, LINKS_AT_ONCE);
      const last = links.at(-1);
      if (last === undefined) return;
      yield links.map(({ link_id }) => link_id);
      after = last.source_id;
    }
  }
}

function requireSame(current: number, version: number): void {
  if (current !== version)
    throw new ApiError("precondition_failed", "The link was changed meanwhile.");
}

/**
 * Clicks of people and bots, visitors and the last click of each of these links, of all clicks for
 * which the condition on their import holds.
 */
async function readFigures(
  clickhouse: ClickHouseReader,
  links: readonly Uuid[],
  condition: string,
  number: number,
): Promise<LinkFigures[]> {
  type Row = Record<"link_id" | "humans" | "bots" | "unique_visitors" | "last_click", string>;
  const parameters = { links, import: number };
  const rows = await queryRows<Row>(
    clickhouse,
    `SELECT link_id, sumIf(clicks, class = 'human') AS humans, sumIf(clicks, class = 'bot') AS bots,
            uniqCombined64MergeIf(14)(visitors, class = 'human') AS unique_visitors,
            toInt64(toUnixTimestamp(maxIf(bucket, class = 'human'))) * 1000 AS last_click
       FROM clicks_1d
      WHERE link_id IN {links: Array(UUID)} AND ${condition}
      GROUP BY link_id`,
    parameters,
  );
  const lastClicks = await queryRows<{ link_id: Uuid; last_click: string }>(
    clickhouse,
    `SELECT link_id, toUnixTimestamp64Milli(max(ts)) AS last_click
       FROM clicks
      WHERE link_id IN {links: Array(UUID)} AND class = 'human' AND ${condition}
      GROUP BY link_id`,
    parameters,
  );
  const byLink = new Map(rows.map((row) => [row.link_id, row]));
  const exact = new Map(lastClicks.map((row) => [row.link_id, Number(row.last_click)]));
  return links.map((link_id) => {
    const row = byLink.get(link_id);
    return {
      link_id,
      clicks: Number(row?.humans ?? 0),
      bots: Number(row?.bots ?? 0),
      unique: Number(row?.unique_visitors ?? 0),
      last_click: exact.get(link_id) ?? Number(row?.last_click ?? 0),
    };
  });
}
