/**
 * Exports everything of an account as lines of JSON, some rows at a time: the rows of PostgreSQL as
 * they are at one moment, without secrets, and then its clicks, without the hashes of visitors.
 */
import type { ClickHouseClient } from "@clickhouse/client";

import { WITHOUT_CONDITION_CACHE } from "../../shared/clicks/query.ts";
import { encodeId, type IdKind, type Uuid } from "../../shared/ids.ts";
import { version } from "../../shared/version.ts";
import { LedgerWriter } from "../events/record.ts";
import { OPERATOR } from "../http/principal.ts";
import type { Sql } from "../postgres.ts";
import { findOutside, findOwnUsers, hasAccount, readRows, Snapshot } from "./sql.ts";
import { ID_COLUMNS, OWNED_TABLES } from "./tables.ts";

const OF_ACCOUNT = "account_id = {account: UUID}";
const OF_LINKS = `${OF_ACCOUNT} AND subject_id != account_id`;

/**
 * The tables of ClickHouse, each with what of its columns is left out, and its rows: single clicks,
 * and the sums of days that are left where retention has deleted these. A sum can be in several
 * rows.
 */
const CLICK_TABLES = [
  { table: "clicks", without: "visitor, page", where: OF_ACCOUNT },
  { table: "clicks_1d", without: "visitors", where: OF_ACCOUNT },
  { table: "clicks_1d_places", without: "", where: OF_LINKS },
  { table: "clicks_1d_agents", without: "", where: OF_LINKS },
  { table: "clicks_1d_referrers", without: "", where: OF_LINKS },
  {
    table: "failures",
    without: "",
    where: `${OF_ACCOUNT} OR has({hosts: Array(String)}, domain)`,
  },
  { table: "unknown_aliases", without: "", where: "has({hosts: Array(String)}, domain)" },
] as const;

/** The format of exports. A later version may add tables and columns to it. */
export const exportFormat = 1;

/**
 * The first line has the format and the version of Shorthop; then each is a row, with its table and
 * its columns; the last one has the number of rows of each table.
 */
type Line =
  | { format: number; version: string }
  | { table: string; row: Record<string, unknown> }
  | { rows: Record<string, number> };

/** Records an export in the account's ledger, before it is made. Throws without an account. */
export async function recordExport(sql: Sql, account: Uuid): Promise<void> {
  if (!(await hasAccount(sql, account))) throw new Error("The account does not exist.");
  await new LedgerWriter(sql).record(
    { accountId: account, mode: "live", actor: OPERATOR },
    { type: "operator.command", objectId: null, data: { command: "accounts export" } },
  );
}

/** Yields the lines of an export, without line feeds. */
export async function* exportAccount(
  sql: Sql,
  clickhouse: ClickHouseClient,
  account: Uuid,
): AsyncGenerator<string, void, undefined> {
  yield JSON.stringify({ format: exportFormat, version } satisfies Line);
  const rows: Record<string, number> = {};
  for await (const line of readAll(sql, clickhouse, account)) {
    rows[line.table] = (rows[line.table] ?? 0) + 1;
    yield JSON.stringify(line satisfies Line);
  }
  yield JSON.stringify({ rows } satisfies Line);
}

async function* readAll(sql: Sql, clickhouse: ClickHouseClient, account: Uuid) {
  const { hosts } = await findOutside(sql, account);
  yield* readPostgres(sql, account);
  for (const { table, without, where } of CLICK_TABLES) {
    const columns = without === "" ? "*" : `* EXCEPT (${without})`;
    const result = await clickhouse.query({
      query: `SELECT ${columns} FROM ${table} WHERE ${where}`,
      query_params: { account, hosts },
      format: "JSONEachRow",
      clickhouse_settings: WITHOUT_CONDITION_CACHE,
    });
    for await (const rows of result.stream<Record<string, unknown>>())
      for (const row of rows) yield { table, row: withPublicIds(row.json(), undefined) };
  }
}

async function* readPostgres(sql: Sql, account: Uuid) {
  const owner = { account, users: await findOwnUsers(sql, account) };
  await using snapshot = await Snapshot.open(sql);
  for (const table of OWNED_TABLES.filter(({ isExported }) => isExported))
    for await (const rows of readRows(snapshot.sql, table, owner))
      for (const { row } of rows) yield { table: table.table, row: withPublicIds(row, table.kind) };
}

/** Replaces UUIDs by the ids that the API has; `kind` is that of the row's own. */
function withPublicIds(
  row: Record<string, unknown>,
  kind: IdKind | undefined,
): Record<string, unknown> {
  const encode = (name: string, value: unknown): unknown => {
    const own = name === "id" ? kind : ID_COLUMNS[name];
    if (own === undefined) return value;
    if (Array.isArray(value)) return value.map((item) => encodeId(own, String(item)));
    return typeof value === "string" ? encodeId(own, value) : value;
  };
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, encode(name, value)]),
  );
}
