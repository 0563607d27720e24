import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import {
  type ClickHouseClient,
  ClickHouseError,
  ClickHouseLogLevel,
  createClient,
} from "@clickhouse/client";
import fc from "fast-check";

type Gateway = { url: string; process: Bun.Subprocess<"ignore", "pipe", "inherit"> };

const dataDir = mkdtempSync(join(tmpdir(), "shorthop-gateway-"));
let gateway: Gateway;
let client: ClickHouseClient;

async function startGateway(): Promise<Gateway> {
  const child = Bun.spawn(["bun", join(import.meta.dir, "main.ts")], {
    env: {
      ...process.env,
      TZ: "UTC",
      CLICKHOUSE_GATEWAY_PORT: "0",
      CLICKHOUSE_GATEWAY_DATA_DIR: join(dataDir, "data"),
    },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
  });
  let output = "";
  const decoder = new TextDecoder();
  for await (const chunk of child.stdout) {
    output += decoder.decode(chunk);
    const url = /"url":"([^"]+)"/.exec(output)?.[1];
    if (url !== undefined) return { url, process: child };
  }
  throw new Error(`The gateway did not start: ${output}`);
}

async function open(): Promise<void> {
  gateway = await startGateway();
  client = createClient({
    url: gateway.url,
    use_multipart_params_auto: true,
    log: { level: ClickHouseLogLevel.OFF },
  });
}

const rows = async <Row>(
  query: string,
  query_params: Record<string, unknown> = {},
): Promise<Row[]> =>
  await (await client.query({ query, query_params, format: "JSONEachRow" })).json<Row>();

const count = async (table: string): Promise<number> =>
  Number((await rows<{ n: number }>(`SELECT count() AS n FROM ${table}`))[0]?.n);

const failure = async (work: Promise<unknown>): Promise<ClickHouseError> => {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof ClickHouseError))
    throw new Error(`Not a ClickHouse error: ${String(error)}`);
  return error;
};

beforeAll(open);
afterAll(async () => {
  await client.close();
  gateway.process.kill("SIGTERM");
  expect(await gateway.process.exited).toBe(0);
  rmSync(dataDir, { recursive: true, force: true });
});

describe("the ClickHouse gateway", () => {
  test("answers a ping", async () => {
    expect(await client.ping()).toEqual({ success: true });
  });

  test("any text comes back as it went in, as a bound parameter and as a row", async () => {
    await client.command({
      query: "CREATE TABLE texts (id UInt32, text String) ENGINE MergeTree ORDER BY id",
    });
    let id = 0;
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "grapheme", maxLength: 40 }), async (raw) => {
        const text = raw.toWellFormed().replaceAll("\0", "");
        id++;
        const [bound] = await rows<{ text: string }>("SELECT {text: String} AS text", { text });
        expect(bound?.text).toBe(text);
        await client.insert({ table: "texts", values: [{ id, text }], format: "JSONEachRow" });
        const [stored] = await rows<{ text: string }>(
          "SELECT text FROM texts WHERE id = {id: UInt32}",
          { id },
        );
        expect(stored?.text).toBe(text);
      }),
      { numRuns: 60 },
    );
  });

  test("arrays, UUIDs and instants can be bound", async () => {
    const [row] = await rows(
      "SELECT {list: Array(UInt32)} AS list, {id: UUID} AS id, {at: DateTime64(3, 'UTC')} AS at, {none: Nullable(String)} AS none",
      {
        list: [1, 2],
        id: "0190a5a2-0000-7000-8000-000000000001",
        at: new Date("2026-11-20T12:34:56.789Z"),
        none: null,
      },
    );
    expect(row).toEqual({
      list: [1, 2],
      id: "0190a5a2-0000-7000-8000-000000000001",
      at: "2026-11-20 12:34:56.789",
      none: null,
    });
  });

  test("a parameter list too long for a URL can be bound", async () => {
    const list = Array.from({ length: 20_000 }, (_, i) => i);
    expect(
      await rows<{ n: number }>("SELECT length({list: Array(UInt32)}) AS n", { list }),
    ).toEqual([{ n: 20_000 }]);
  });

  test("a setting of one request does not reach the next", async () => {
    const value = "SELECT getSetting('max_block_size') AS value";
    const [before] = await rows(value);
    const result = await client.query({
      query: value,
      clickhouse_settings: { max_block_size: "1234" },
      format: "JSONEachRow",
    });
    expect(await result.json<unknown>()).toEqual([{ value: 1234 }]);
    expect(await rows(value)).toEqual([before]);
  });

  test("a parameter of one request is not set in the next", async () => {
    await rows("SELECT {leak: String}", { leak: "x" });
    expect((await failure(rows("SELECT {leak: String}"))).code).toBe("456");
  });

  test("a deduplication token counts for its own insert alone", async () => {
    await client.command({
      query: `CREATE TABLE tokens (a UInt32) ENGINE MergeTree ORDER BY a
              SETTINGS non_replicated_deduplication_window = 100`,
    });
    const insert = (token?: string) =>
      client.insert({
        table: "tokens",
        values: [{ a: 1 }],
        format: "JSONEachRow",
        ...(token === undefined
          ? {}
          : { clickhouse_settings: { insert_deduplication_token: token } }),
      });
    await insert("first");
    await insert("first");
    expect(await count("tokens")).toBe(1);
    await client.insert({ table: "tokens", values: [{ a: 2 }], format: "JSONEachRow" });
    await insert("second");
    expect(await count("tokens")).toBe(3);
  });

  test("three inserts of one page are stored once, in the table and through a view", async () => {
    await client.command({
      query: `CREATE TABLE pages (a UInt32) ENGINE MergeTree ORDER BY a
              SETTINGS non_replicated_deduplication_window = 100`,
    });
    await client.command({
      query: `CREATE TABLE pages_sum (a UInt32, n UInt64) ENGINE SummingMergeTree ORDER BY a
              SETTINGS non_replicated_deduplication_window = 100`,
    });
    await client.command({
      query:
        "CREATE MATERIALIZED VIEW pages_view TO pages_sum AS SELECT a, count() AS n FROM pages GROUP BY a",
    });
    for (let i = 0; i < 3; i++) {
      await client.command({
        query: `INSERT INTO pages SETTINGS insert_deduplication_token = 'page:1',
                deduplicate_blocks_in_dependent_materialized_views = 1, async_insert = 0
                FORMAT JSONEachRow {"a":7}{"a":8}`,
      });
    }
    expect(await count("pages")).toBe(2);
    expect(await rows<{ n: number }>("SELECT sum(n) AS n FROM pages_sum")).toEqual([{ n: 2 }]);
  });

  test("errors carry ClickHouse's code and name", async () => {
    expect(await failure(rows("SELECT * FROM nowhere"))).toMatchObject({
      code: "60",
      type: "UNKNOWN_TABLE",
    });
    expect(await failure(rows("SELEC 1"))).toMatchObject({ code: "62", type: "SYNTAX_ERROR" });
    expect(
      await failure(client.query({ query: "SELECT 1", clickhouse_settings: { nonsense: 1 } })),
    ).toMatchObject({ code: "115", type: "UNKNOWN_SETTING" });
    const missing = await fetch(`${gateway.url}/?query=SELECT+*+FROM+nowhere`);
    expect(missing.status).toBe(404);
    expect(missing.headers.get("x-clickhouse-exception-code")).toBe("60");
  });

  test("a hundred thousand rows go in and come out", async () => {
    await client.command({ query: "CREATE TABLE many (a UInt32) ENGINE MergeTree ORDER BY a" });
    const values = Array.from({ length: 100_000 }, (_, a) => ({ a }));
    await client.insert({ table: "many", values, format: "JSONEachRow" });
    const back = await rows<{ a: number }>("SELECT a FROM many ORDER BY a");
    expect(back).toHaveLength(100_000);
    expect(back.at(-1)).toEqual({ a: 99_999 });
  });

  test("an insert without rows is no error", async () => {
    await client.insert({ table: "many", values: [], format: "JSONEachRow" });
    const answer = await fetch(`${gateway.url}/?query=INSERT+INTO+many+FORMAT+JSONEachRow`, {
      method: "POST",
    });
    expect(answer.status).toBe(200);
  });

  test("what was acknowledged survives kill -9", async () => {
    await client.command({ query: "CREATE TABLE durable (a UInt32) ENGINE MergeTree ORDER BY a" });
    let acknowledged = 0;
    const inserting = (async () => {
      for (;;) {
        await client.insert({
          table: "durable",
          values: [{ a: acknowledged }],
          format: "JSONEachRow",
        });
        acknowledged++;
      }
    })().catch(() => undefined);
    while (acknowledged < 20) await Bun.sleep(5);
    gateway.process.kill("SIGKILL");
    await gateway.process.exited;
    await inserting;
    await client.close();
    await open();
    expect(await count("durable")).toBeGreaterThanOrEqual(acknowledged);
  });
});
