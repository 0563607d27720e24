/** Queries ClickHouse. */

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
    statement: Statement & { clickhouse_settings: { use_query_condition_cache: 0 } },
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
    clickhouse_settings: WITHOUT_CONDITION_CACHE,
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
