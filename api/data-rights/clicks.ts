/**
 * The clicks of an account in ClickHouse: all, or those of a link, of whole days (UTC), or both.
 * They are counted in, and erased from, the table of clicks, every rollup and the sums of failed
 * requests.
 */
import { type ClickHouse, clickTime, deleteRows, queryRows } from "../../shared/clicks/query.ts";
import {
  QUARTER_HOUR_SECONDS,
  ROLLUP_TABLES,
  type RollupTable,
} from "../../shared/clicks/rollup-tables.ts";
import { rebuild } from "../../shared/clicks/rollups.ts";
import { TOTALS_TABLE } from "../../shared/clicks/totals.ts";
import type { Uuid } from "../../shared/ids.ts";
import { type LinkLoss, readLosses } from "../clicks/link-counters.ts";
import type { ClickRange } from "./sql.ts";

/**
 * A table with rows of these clicks, which the condition selects. `isBefore` is true for those that
 * have only clicks before the parameter `until`.
 */
type Selected = { table: string; condition: string; isBefore: string };

export class AccountClicks {
  readonly #clickhouse: ClickHouse;
  readonly #range: ClickRange;
  readonly #parameters: Record<string, unknown>;

  /** `hosts` are the domains of an account that is erased as a whole. */
  constructor(clickhouse: ClickHouse, account: Uuid, range: ClickRange, hosts: readonly string[]) {
    this.#clickhouse = clickhouse;
    this.#range = range;
    const { link, from, to } = range;
    this.#parameters = {
      account,
      hosts,
      ...(link === undefined ? {} : { link }),
      ...(from === undefined ? {} : { from: from.getTime() / 1_000 }),
      ...(to === undefined ? {} : { to: to.getTime() / 1_000 }),
    };
  }

  /** Rows of each table; with `until`, of clicks before it only. */
  async count(until?: Date): Promise<Record<string, number>> {
    const parameters = { ...this.#parameters, until: Math.floor((until?.getTime() ?? 0) / 1_000) };
    const counts: Record<string, number> = {};
    for (const { table, condition, isBefore } of this.#tables()) {
      const bound = until === undefined ? "" : ` AND ${isBefore}`;
      const query = `SELECT count() AS rows FROM ${table} WHERE ${condition}${bound}`;
      const [row] = await queryRows<{ rows: string }>(this.#clickhouse, query, parameters);
      counts[table] = Number(row?.rows);
    }
    return counts;
  }

  /** Counts, before the erasure, what each link loses. */
  readLosses(): Promise<LinkLoss[]> {
    const condition = this.#of("link_id", "bucket");
    return readLosses(this.#clickhouse, condition, this.#parameters);
  }

  /**
   * Deletes the rows. Sums of a whole account that have a link's clicks are then made anew, from
   * those of its other links.
   */
  async erase(): Promise<void> {
    const days = this.#range.link === undefined ? [] : await this.#readDays();
    await deleteRows(this.#clickhouse, this.#tables(), this.#parameters);
    if (days.length === 0) return;
    for (const rollup of ROLLUP_TABLES)
      if (rollup.idColumn !== "link_id") await this.#sumAgain(rollup, days);
  }

  /** The days (UTC) on which the link has clicks, in Unix seconds. */
  async #readDays(): Promise<number[]> {
    const rows = await queryRows<{ day: number }>(
      this.#clickhouse,
      `SELECT DISTINCT toUnixTimestamp(bucket) AS day
         FROM ${TOTALS_TABLE} WHERE ${this.#of("link_id", "bucket")}`,
      this.#parameters,
    );
    return rows.map(({ day }) => day);
  }

  /**
   * Makes the account's rows of these days anew. What workers insert in between can be counted
   * twice; the hourly comparison of rollups corrects that.
   */
  async #sumAgain(rollup: RollupTable, days: readonly number[]): Promise<void> {
    const ofDays =
      "account_id = {account: UUID} AND has({days: Array(UInt32)}, toUnixTimestamp(toStartOfDay(bucket)))";
    const rows = `${ofDays}${rollup.idColumn === "subject_id" ? " AND subject_id = account_id" : ""}`;
    const parameters = { account: this.#parameters["account"], days };
    await deleteRows(this.#clickhouse, [{ table: rollup.table, condition: rows }], parameters);
    const expected = rollup.selectFromLinks?.(ofDays) ?? sumOfHours(ofDays);
    await rebuild(this.#clickhouse, rollup, { expected, rows, parameters, lacksAccounts: false });
  }

  /** The tables, without the sums of an account that have clicks of other links, too. */
  #tables(): Selected[] {
    const isWhole = this.#range.link === undefined && this.#range.from === undefined;
    const ofHosts = "has({hosts: Array(String)}, domain)";
    const failures = this.#of("link_id", "bucket");
    const condition = isWhole ? `(${failures} OR ${ofHosts})` : failures;
    const isBefore = bucketBefore(QUARTER_HOUR_SECONDS);
    return [
      {
        table: "clicks",
        condition: this.#of("link_id", "ts"),
        isBefore: `ts < ${clickTime("until")}`,
      },
      ...ROLLUP_TABLES.flatMap(({ table, idColumn, bucketSeconds }) =>
        this.#range.link !== undefined && idColumn === "account_id"
          ? []
          : [
              {
                table,
                condition: this.#of(idColumn, "bucket"),
                isBefore: bucketBefore(bucketSeconds),
              },
            ],
      ),
      { table: "failures", condition, isBefore },
      ...(isWhole ? [{ table: "unknown_aliases", condition: ofHosts, isBefore }] : []),
    ];
  }

  /** The condition of rows, by the columns of their subject and of their time. */
  #of(idColumn: string, timeColumn: "ts" | "bucket"): string {
    const { link, from, to } = this.#range;
    const instant = timeColumn === "ts" ? clickTime : bucketTime;
    return [
      "account_id = {account: UUID}",
      ...(link === undefined ? [] : [`${idColumn} = {link: UUID}`]),
      ...(from === undefined ? [] : [`${timeColumn} >= ${instant("from")}`]),
      ...(to === undefined ? [] : [`${timeColumn} < ${instant("to")}`]),
    ].join(" AND ");
  }
}

/** A bucket that has ended by then. */
const bucketBefore = (seconds: number): string =>
  `bucket + INTERVAL ${seconds} SECOND <= ${bucketTime("until")}`;

const bucketTime = (parameter: string): string => `toDateTime({${parameter}: UInt32}, 'UTC')`;

/** Hours of an account, as sums of those of its links. */
const sumOfHours = (condition: string): string => `
  SELECT account_id, mode, bucket, class, import, sum(clicks) AS clicks,
         uniqCombined64MergeState(14)(visitors) AS visitors
    FROM clicks_1h WHERE ${condition}
   GROUP BY account_id, mode, bucket, class, import`;
