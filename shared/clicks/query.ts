/** How ClickHouse is asked. */

type Statement = { query: string; query_params: Record<string, unknown> };

/** The part of the ClickHouse client that is used here. */
export type ClickHouse = {
  query(
    query: Statement & {
      format: "JSONEachRow";
      clickhouse_settings?: { use_query_condition_cache: 0 };
    },
  ): Promise<{ json<Row>(): Promise<Row[]> }>;
  command(statement: Statement): Promise<unknown>;
};

/**
 * Runs a query and returns its rows. Without the query condition cache, which makes ClickHouse skip parts of a table that
 * do hold matching rows (github.com/ClickHouse/ClickHouse/issues/111363 and others): a repair of rollups would add up to
 * what was read, and a stored segment would be inserted again.
 */
export async function queryRows<Row>(
  clickhouse: Pick<ClickHouse, "query">,
  query: string,
  query_params: Record<string, unknown> = {},
): Promise<Row[]> {
  return await (await clickhouse.query(toStatement(query, query_params))).json<Row>();
}

/** A client that can return rows as text, without reading each. */
export type ClickTexts = {
  query(
    query: Parameters<ClickHouse["query"]>[0],
  ): Promise<{ json<Row>(): Promise<Row[]>; text(): Promise<string> }>;
};

/** As {@link queryRows}, for many rows: each is read only when it is asked for, so that the caller can give way between. */
export async function queryManyRows<Row>(
  clickhouse: ClickTexts,
  query: string,
  query_params: Record<string, unknown>,
): Promise<Iterable<Row>> {
  const result = await clickhouse.query(toStatement(query, query_params));
  return readLines<Row>(await result.text());
}

const toStatement = (
  query: string,
  query_params: Record<string, unknown>,
): Parameters<ClickHouse["query"]>[0] => ({
  query,
  query_params,
  format: "JSONEachRow",
  clickhouse_settings: { use_query_condition_cache: 0 },
});

function* readLines<Row>(text: string): Generator<Row> {
  for (let start = 0; start < text.length;) {
    const end = text.indexOf("\n", start);
    const row: Row = JSON.parse(text.slice(start, end < 0 ? undefined : end));
    yield row;
    start = end < 0 ? text.length : end + 1;
  }
}

/**
 * The time that a parameter has in Unix seconds, to compare `clicks.ts` with. It must have milliseconds as that has:
 * against a `DateTime`, ClickHouse's index takes `ts < x` for `ts <= x - 1 s`, and skips a part whose clicks are all of the
 * second before x (github.com/ClickHouse/ClickHouse/issues/113993).
 */
export const clickTime = (parameter: string): string =>
  `toDateTime64({${parameter}: UInt32}, 3, 'UTC')`;
