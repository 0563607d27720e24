/** ClickHouse: its server, its queries, and the grants of its users. */
import { readFileSync } from "node:fs";

type Statement = { query: string; query_params: Record<string, unknown> };

/** The part of the ClickHouse client that queries need. */
export interface ClickHouseReader {
  query(query: Query): Promise<{ json<Row>(): Promise<Row[]> }>;
}

/** With statements that change something. */
export interface ClickHouse extends ClickHouseReader {
  command(statement: Statement): Promise<unknown>;
}

type Query = Statement & {
  format: "JSONEachRow";
  clickhouse_settings?: { use_query_condition_cache: 0 };
};

/**
 * Runs a query and returns its rows. The query condition cache is off: with it ClickHouse skips
 * parts of a table that have matching rows (github.com/ClickHouse/ClickHouse/issues/111363 and
 * others). A repair would then make rollups wrong, and a stored segment would be inserted again.
 */
export async function queryRows<Row>(
  clickhouse: ClickHouseReader,
  query: string,
  query_params: Record<string, unknown> = {},
): Promise<Row[]> {
  const result = await clickhouse.query({
    query,
    query_params,
    format: "JSONEachRow",
    clickhouse_settings: WITHOUT_CONDITION_CACHE,
  });
  return await result.json<Row>();
}

/** A client that can return rows as the bytes that arrive, each row a line of JSON. */
export type ClickChunks = {
  chunks(
    statement: Statement & {
      clickhouse_settings: { use_query_condition_cache: 0; wait_end_of_query: 0 };
    },
  ): Promise<AsyncIterable<Uint8Array>>;
};

/**
 * Runs a query for many rows and returns them as lines of JSON, in chunks as they arrive. To decode
 * tens of megabytes as one text, and to encode them again, would stall the event loop for a tenth
 * of a second each.
 */
export async function readChunks(
  clickhouse: ClickChunks,
  query: string,
  query_params: Record<string, unknown>,
): Promise<AsyncIterable<Uint8Array>> {
  return await clickhouse.chunks({
    query: `${query} FORMAT JSONEachRow`,
    query_params,
    clickhouse_settings: { ...WITHOUT_CONDITION_CACHE, wait_end_of_query: 0 },
  });
}

/** See {@link queryRows}. */
export const WITHOUT_CONDITION_CACHE = { use_query_condition_cache: 0 } as const;

/**
 * Converts a parameter in Unix seconds to a time that `clicks.ts` can be compared with. It must
 * have milliseconds like `clicks.ts`: for a `DateTime`, ClickHouse's index treats `ts < x` as `ts
 * <= x - 1 s`, and skips a part whose clicks are all of the second before x
 * (github.com/ClickHouse/ClickHouse/issues/113993).
 */
export const clickTime = (parameter: string): string =>
  `toDateTime64({${parameter}: UInt32}, 3, 'UTC')`;

/** Time after which ClickHouse gives up the deletion from one table. */
const DELETION_SECONDS_MAX = 3_000;

/** Parts that one statement drops, and attempts while ClickHouse merges parts, with its error. */
const PARTS_AT_ONCE = 1_000;
const DROPS_MAX = 5;
const NO_SUCH_PART = "232";

/**
 * Deletes rows of tables of clicks and rollups, on every shard. That takes the longer, the more
 * months the clicks are of: a table has its parts rewritten one after the other, however few rows
 * they have. So what can be dropped is dropped before, and one server works on all tables at once.
 * A cluster runs such statements one by one, and a time limits how long each may wait.
 */
export async function deleteRows(
  clickhouse: ClickHouse,
  deletions: readonly Deletion[],
  query_params: Record<string, unknown>,
): Promise<void> {
  const { suffix, onCluster } = await clickTables(clickhouse);
  const run = async (deletion: Deletion): Promise<void> => {
    const { table, condition } = deletion;
    // Shards have parts of the same names.
    const hasMore = onCluster !== "" || (await dropParts(clickhouse, deletion, query_params));
    if (!hasMore) return;
    await clickhouse.command({
      query: `DELETE FROM ${table}${suffix} ${onCluster} WHERE ${condition}
              SETTINGS lightweight_deletes_sync = 2, max_execution_time = ${DELETION_SECONDS_MAX}`,
      query_params,
    });
  };
  if (onCluster === "") await Promise.all(deletions.map(run));
  else for (const deletion of deletions) await run(deletion);
}

/** The rows of a table that a condition selects. */
type Deletion = { table: string; condition: string };

/**
 * Drops the parts of which all rows are to be deleted, as those of an import have of most months; a
 * part never changes. Returns whether other parts have some as well.
 */
async function dropParts(
  clickhouse: ClickHouse,
  { table, condition }: Deletion,
  query_params: Record<string, unknown>,
): Promise<boolean> {
  for (let attempt = 0; attempt < DROPS_MAX; attempt++) {
    const parts = await queryRows<{ part: string; isWhole: number }>(
      clickhouse,
      `SELECT _part AS part, toUInt8(min(${condition})) AS isWhole FROM ${table}
        GROUP BY part HAVING max(${condition})`,
      query_params,
    );
    const whole = parts.filter(({ isWhole }) => isWhole === 1);
    if (whole.length === 0) return parts.length > 0;
    const drops = whole.map(({ part }) => `DROP PART '${part}'`);
    try {
      for (let i = 0; i < drops.length; i += PARTS_AT_ONCE) {
        const some = drops.slice(i, i + PARTS_AT_ONCE).join(", ");
        await clickhouse.command({ query: `ALTER TABLE ${table} ${some}`, query_params: {} });
      }
    } catch (error) {
      if (!isNoSuchPart(error)) throw error;
    }
  }
  return true;
}

/** Whether a part was merged into another one meanwhile. */
const isNoSuchPart = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === NO_SUCH_PART;

/**
 * How a statement names the tables that store clicks and rollups: on a cluster those of each shard.
 */
async function clickTables(
  clickhouse: ClickHouseReader,
): Promise<{ suffix: "" | "_local"; onCluster: string }> {
  const [row] = await queryRows<{ cluster: string }>(
    clickhouse,
    `SELECT extract(engine_full, '^Distributed\\(''([^'']+)') AS cluster FROM system.tables
      WHERE database = currentDatabase() AND name = 'clicks'`,
  );
  const cluster = row?.cluster ?? "";
  return cluster === ""
    ? { suffix: "", onCluster: "" }
    : { suffix: "_local", onCluster: `ON CLUSTER '${cluster}'` };
}

const AUTHORITIES = "ca_cert";

type ClickHouseServer = { url: string; tls?: { ca_cert: Buffer } };

/**
 * Splits the parameter `ca_cert` from a URL: the file with the authorities that the server's
 * certificate is verified with, in place of the system's. Throws when it cannot be read.
 */
export function serverOptions(url: string): ClickHouseServer {
  const server = new URL(url);
  const file = server.searchParams.get(AUTHORITIES);
  if (file === null) return { url };
  server.searchParams.delete(AUTHORITIES);
  return { url: server.href, tls: { ca_cert: readFileSync(file) } };
}

/** Names that need no escape within backquotes. */
const DATABASE = /^[\w-]+$/;

/** The error of a server that is too old for CHECK GRANT. */
const UNKNOWN_STATEMENT = /SYNTAX_ERROR/;

/**
 * Throws an error that names the `privileges` that the user lacks on the database of `url`.
 * `queryText` runs a statement and returns its output as text.
 */
export async function requireGrants(
  url: string,
  privileges: readonly string[],
  queryText: (statement: string) => Promise<string>,
): Promise<void> {
  const database = decodeURIComponent(new URL(url).pathname.slice(1)) || "default";
  if (!DATABASE.test(database)) throw new Error(`${database} is no database's name`);
  const missing: string[] = [];
  for (const privilege of privileges) {
    try {
      const output = await queryText(`CHECK GRANT ${privilege} ON \`${database}\`.*`);
      if (!output.includes("1")) missing.push(privilege);
    } catch (error) {
      if (error instanceof Error && UNKNOWN_STATEMENT.test(error.message)) return;
      throw error;
    }
  }
  if (missing.length > 0) throw new Error(`lacks ${missing.join(", ")} on ${database}`);
}
