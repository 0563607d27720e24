import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";

import {
  type ClickHouseClient,
  ClickHouseError,
  ClickHouseLogLevel,
  createClient,
} from "@clickhouse/client";
import fc from "fast-check";

import { casesOf } from "../../../test/harness/property-runs.ts";
import { GATEWAY_ARGUMENTS } from "./command.ts";
import { BODY_BYTES_MAX } from "./statement.ts";

type Gateway = { url: string; process: Bun.Subprocess<"ignore", "pipe", "inherit"> };

const PASSWORD = "password of this test";

const dataDir = mkdtempSync(join(tmpdir(), "shorthop-gateway-"));
let gateway: Gateway;
let client: ClickHouseClient;

async function startGateway(): Promise<Gateway> {
  const child = Bun.spawn(["bun", ...GATEWAY_ARGUMENTS], {
    env: {
      ...process.env,
      TZ: "UTC",
      CLICKHOUSE_GATEWAY_PORT: "0",
      CLICKHOUSE_GATEWAY_DATA_DIR: join(dataDir, "data"),
      CLICKHOUSE_GATEWAY_PASSWORD: PASSWORD,
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
    username: "shorthop",
    password: PASSWORD,
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

const expectFailure = async (work: Promise<unknown>): Promise<ClickHouseError> => {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof ClickHouseError))
    throw new Error(`Not a ClickHouse error: ${String(error)}`);
  return error;
};

/** Sends a request with the password, unless `init` overrides it. */
const send = (
  search: string,
  init: Omit<RequestInit, "headers"> & { headers?: Record<string, string> } = {},
): Promise<Response> =>
  fetch(`${gateway.url}/${search}`, {
    ...init,
    headers: { "x-clickhouse-user": "shorthop", "x-clickhouse-key": PASSWORD, ...init.headers },
  });

beforeAll(open);
afterAll(async () => {
  await client.close();
  gateway.process.kill("SIGTERM");
  expect(await gateway.process.exited).toBe(0);
  rmSync(dataDir, { recursive: true, force: true });
});

describe("the ClickHouse gateway", () => {
  test("responds to a ping", async () => {
    expect(await client.ping()).toEqual({ success: true });
  });

  test("returns any text unchanged, as a bound parameter and as a row", async () => {
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
      { numRuns: casesOf(100) },
    );
  });

  test("binds arrays, UUIDs and timestamps", async () => {
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

  test("binds a parameter list that is too long for a URL", async () => {
    const list = Array.from({ length: 20_000 }, (_, i) => i);
    expect(
      await rows<{ n: number }>("SELECT length({list: Array(UInt32)}) AS n", { list }),
    ).toEqual([{ n: 20_000 }]);
  });

  test("binds a list of 5,000 ids to a statement that is read in parts, whose URL has them", async () => {
    const ids = Array.from({ length: 5_000 }, () => crypto.randomUUID());
    const { stream } = await client.exec({
      query: "SELECT length({ids: Array(UUID)}) FORMAT TSV",
      query_params: { ids },
    });
    expect(await new Response(Readable.toWeb(stream)).text()).toBe("5000\n");
  });

  test("binds a list of 20,000 ids beside other parameters", async () => {
    const ids = Array.from({ length: 20_000 }, () => crypto.randomUUID());
    const query_params = { ids, name: "it's", last: ids.at(-1) };
    expect(
      await rows(
        `SELECT length({ids: Array(UUID)}) AS count, {name: String} AS name,
                has({ids: Array(UUID)}, {last: UUID}) AS found`,
        query_params,
      ),
    ).toEqual([{ count: 20_000, name: "it's", found: 1 }]);
  });

  test("refuses a statement that is longer than ClickHouse allows, unless a setting allows it", async () => {
    const query = `SELECT length('${"x".repeat(300_000)}') AS n`;
    expect((await expectFailure(rows(query))).message).toContain("Max query size exceeded");
    const response = await send("?max_query_size=400000", { method: "POST", body: query });
    expect(await response.text()).toBe("300000\n");
  });

  test("does not leak a setting into the next request", async () => {
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

  test("does not leak a parameter into the next request", async () => {
    await rows("SELECT {leak: String}", { leak: "x" });
    expect((await expectFailure(rows("SELECT {leak: String}"))).code).toBe("456");
  });

  test("applies a deduplication token only to its own insert", async () => {
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

  test("stores a segment once if it is inserted three times, in the table and through a view", async () => {
    await client.command({
      query: `CREATE TABLE segments (a UInt32) ENGINE MergeTree ORDER BY a
              SETTINGS non_replicated_deduplication_window = 100`,
    });
    await client.command({
      query: `CREATE TABLE segments_sum (a UInt32, n UInt64) ENGINE SummingMergeTree ORDER BY a
              SETTINGS non_replicated_deduplication_window = 100`,
    });
    await client.command({
      query:
        "CREATE MATERIALIZED VIEW segments_view TO segments_sum AS SELECT a, count() AS n FROM segments GROUP BY a",
    });
    for (let i = 0; i < 3; i++) {
      await client.command({
        query: `INSERT INTO segments SETTINGS insert_deduplication_token = 'segment:1',
                deduplicate_blocks_in_dependent_materialized_views = 1, async_insert = 0
                FORMAT JSONEachRow {"a":7}{"a":8}`,
      });
    }
    expect(await count("segments")).toBe(2);
    expect(await rows<{ n: number }>("SELECT sum(n) AS n FROM segments_sum")).toEqual([{ n: 2 }]);
  });

  test("returns errors with ClickHouse's code and name", async () => {
    expect(await expectFailure(rows("SELECT * FROM nowhere"))).toMatchObject({
      code: "60",
      type: "UNKNOWN_TABLE",
    });
    expect(await expectFailure(rows("SELEC 1"))).toMatchObject({
      code: "62",
      type: "SYNTAX_ERROR",
    });
    expect(
      await expectFailure(
        client.query({ query: "SELECT 1", clickhouse_settings: { nonsense: 1 } }),
      ),
    ).toMatchObject({ code: "115", type: "UNKNOWN_SETTING" });
    const missing = await send("?query=SELECT+*+FROM+nowhere");
    expect(missing.status).toBe(404);
    expect(missing.headers.get("x-clickhouse-exception-code")).toBe("60");
  });

  test("inserts and returns a hundred thousand rows", async () => {
    await client.command({ query: "CREATE TABLE many (a UInt32) ENGINE MergeTree ORDER BY a" });
    const values = Array.from({ length: 100_000 }, (_, a) => ({ a }));
    await client.insert({ table: "many", values, format: "JSONEachRow" });
    const returned = await rows<{ a: number }>("SELECT a FROM many ORDER BY a");
    expect(returned).toHaveLength(100_000);
    expect(returned.at(-1)).toEqual({ a: 99_999 });
  });

  test("accepts an insert without rows", async () => {
    await client.insert({ table: "many", values: [], format: "JSONEachRow" });
    const { status } = await send("?query=INSERT+INTO+many+FORMAT+JSONEachRow", { method: "POST" });
    expect(status).toBe(200);
  });

  test("keeps acknowledged inserts after kill -9", async () => {
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

const status = async (init: Parameters<typeof send>[1], search = "?query=SELECT+1") =>
  (await send(search, init)).status;

describe("access to the ClickHouse gateway", () => {
  test("is granted to a local program with the password, in each way the interface supports", async () => {
    const basic = (user: string, password: string) =>
      fetch(`${gateway.url}/?query=SELECT+1`, {
        headers: { authorization: `Basic ${btoa(`${user}:${password}`)}` },
      });
    expect(await status({})).toBe(200);
    expect((await basic("shorthop", PASSWORD)).status).toBe(200);
    const parameters = new URLSearchParams({
      query: "SELECT 1",
      user: "shorthop",
      password: PASSWORD,
    });
    expect((await fetch(`${gateway.url}/?${parameters.toString()}`)).status).toBe(200);
    expect((await basic("shorthop", "")).status).toBe(401);
    expect((await basic("shorthop", `${PASSWORD}x`)).status).toBe(401);
    expect((await basic("default", PASSWORD)).status).toBe(401);
    expect((await basic("default", "")).status).toBe(401);
    expect((await fetch(`${gateway.url}/?query=SELECT+1`)).status).toBe(401);
    expect((await fetch(gateway.url, { method: "POST", body: "SELECT 1" })).status).toBe(401);
  });

  test("is denied to web pages, even with the password", async () => {
    for (const headers of [
      { origin: "https://evil.example" },
      { origin: "null" },
      { origin: "http://localhost:8123" },
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site" },
    ] satisfies Record<string, string>[]) {
      expect(await status({ headers })).toBe(403);
      expect((await send("ping", { headers })).status).toBe(403);
    }
  });

  test("is denied under a foreign host name that resolves to this machine", async () => {
    for (const host of [
      "evil.example",
      "evil.example:8123",
      "127.0.0.1.evil.example",
      "localhost.",
      "10.0.0.1",
    ])
      expect(await status({ headers: { host } })).toBe(403);
    for (const host of ["localhost", "127.0.0.1:1", "[::1]:8123"])
      expect(await status({ headers: { host } })).toBe(200);
  });

  test("is denied to a body that decompresses to more than the limit", async () => {
    const body = Bun.gzipSync(new Uint8Array(BODY_BYTES_MAX + 1));
    expect(
      await status({ method: "POST", body, headers: { "content-encoding": "gzip" } }, ""),
    ).toBe(501);
    expect(await rows("SELECT 1 AS one")).toEqual([{ one: 1 }]);
  });
});

const names = async (table: string) =>
  (await rows<{ name: string }>(`SELECT name FROM system.${table} ORDER BY name`)).map(
    ({ name }) => name,
  );

const parameters = (values: Record<string, string>) => `?${new URLSearchParams(values).toString()}`;

describe("a statement reaches nothing beyond the engine's own tables", () => {
  const SECRET = "a secret of this machine";
  const secret = join(dataDir, "secret.csv");
  const written = join(dataDir, "written.csv");

  beforeAll(async () => {
    writeFileSync(secret, `${SECRET}\n`);
    await client.command({ query: "CREATE TABLE target (a String) ENGINE MergeTree ORDER BY a" });
  });

  /** Runs a statement that must fail, without revealing the file or writing anything. */
  async function expectRejected(sql: string, search = ""): Promise<void> {
    const response = await send(search, { method: "POST", body: sql });
    const text = await response.text();
    expect({ sql, search, ok: response.ok, shown: text.includes(SECRET) }).toEqual({
      sql,
      search,
      ok: false,
      shown: false,
    });
    expect({ sql, files: readdirSync(dataDir).toSorted() }).toEqual({
      sql,
      files: ["data", "secret.csv"],
    });
  }

  test("by any table function the engine lists", async () => {
    const functions = await names("table_functions");
    expect(functions).toEqual(
      expect.arrayContaining(["file", "url", "s3", "executable", "remote"]),
    );
    // Generates its own rows from the text it is given.
    const harmless = new Set(["values"]);
    for (const name of functions.filter((name) => !harmless.has(name))) {
      await expectRejected(`SELECT * FROM ${name}('${secret}')`);
      await expectRejected(`SELECT * FROM ${name}('${secret}', 'CSV', 'a String')`);
      await expectRejected(
        `INSERT INTO FUNCTION ${name}('${written}', 'CSV', 'a String') SELECT 'x'`,
      );
      await expectRejected(`SELECT * FROM ${name}('file://${secret}', 'CSV', 'a String')`);
    }
  });

  test("by any table or database engine that stores data elsewhere", async () => {
    const engines = (await names("table_engines")).filter((name) => !name.endsWith("MergeTree"));
    expect(engines).toEqual(expect.arrayContaining(["File", "EmbeddedRocksDB", "SQLite"]));
    for (const name of engines.filter((name) => name !== "Memory" && name !== "Null")) {
      await expectRejected(`CREATE TABLE x (a String) ENGINE = ${name}('${written}')`);
      await expectRejected(
        `CREATE TABLE x (a String) ENGINE ${name}(0, '${written}') PRIMARY KEY a`,
      );
    }
    for (const name of (await names("database_engines")).filter((name) => name !== "Atomic"))
      await expectRejected(`CREATE DATABASE x ENGINE = ${name}('${written}')`);
  });

  test("by a file as the source or the target of a statement, in any spelling", async () => {
    for (const sql of [
      `SELECT file('${secret}')`,
      `SELECT \`file\`('${secret}')`,
      `SELECT "fi\\x6ce"('${secret}')`,
      `SELECT \`f\\x69le\`('${secret}')`,
      `SELECT \u201cfile\u201d('${secret}')`,
      `SELECT file/**/('${secret}')`,
      `SELECT file\u00a0('${secret}')`,
      `SELECT file -- x\n('${secret}')`,
      `SELECT arrayMap(file, ['${secret}'])`,
      `SELECT 1 AS a; SELECT file('${secret}')`,
      `WITH file('${secret}') AS x SELECT x`,
      `SELECT * FROM \`${secret}\``,
      `SELECT * FROM '${secret}'`,
      `SELECT * FROM default.\`${secret}\``,
      `SELECT * FROM url/**/('file://${secret}', 'CSV', 'a String')`,
      `SELECT * FROM "sqlite"('${written}', 'x')`,
      `SELECT * FROM sqlite\u3000('${written}', 'x')`,
      `SELECT * FROM sqlite #!x\n('${written}', 'x')`,
      `DESCRIBE TABLE sqlite('${written}', 'x')`,
      `DESCRIBE TABLE file('${secret}')`,
      `CREATE TABLE x AS sqlite('${written}', 'x')`,
      `CREATE TABLE x AS file('${secret}', 'CSV', 'a String')`,
      `CREATE VIEW x AS SELECT file('${secret}')`,
      `SELECT 1 INTO OUTFILE '${written}'`,
      `SELECT 1 into/**/outfile '${written}'`,
      `SELECT 1 INTO OUTFILE '${written}' TRUNCATE FORMAT CSV`,
      `SELECT 1; SELECT 2 INTO OUTFILE '${written}'`,
      `INSERT INTO target FROM INFILE '${secret}' FORMAT CSV`,
      `INSERT INTO target VALUES (file('${secret}'))`,
      `CREATE TABLE x (a String) ENGINE = \`EmbeddedRocksDB\`(0, '${written}') PRIMARY KEY a`,
      `CREATE TABLE x (a String) ENGINE/**/EmbeddedRocksDB(0, '${written}') PRIMARY KEY a`,
      `CREATE TABLE x (a String) ENGINE\u00a0=\u00a0EmbeddedRocksDB(0, '${written}') PRIMARY KEY a`,
      `CREATE TABLE x (a String) ENGINE MergeTree ORDER BY a SETTINGS disk = disk(type = local, path = '${written}/')`,
      `ATTACH TABLE x FROM '${written}' (a String) ENGINE = MergeTree ORDER BY a`,
      `CREATE DICTIONARY x (a String) PRIMARY KEY a SOURCE(FILE(path '${secret}' format 'CSV')) LAYOUT(HASHED()) LIFETIME(0)`,
      `CREATE DICTIONARY x (a String) PRIMARY KEY a SOURCE(EXECUTABLE(command 'cat ${secret}' format 'CSV')) LAYOUT(HASHED()) LIFETIME(0)`,
      `CREATE DICTIONARY x (a String) PRIMARY KEY a SOURCE(HTTP(url 'http://127.0.0.1:9/' format 'CSV')) LAYOUT(HASHED()) LIFETIME(0)`,
      `BACKUP TABLE target TO File('${written}')`,
      `BACKUP TABLE target TO Disk('default', '${written}')`,
      `RESTORE TABLE target FROM Disk('default', '${written}')`,
      `CREATE NAMED COLLECTION x AS url = 'http://127.0.0.1:9/'`,
      `CREATE FUNCTION x AS (a) -> a`,
      `CREATE USER x`,
      `GRANT ALL ON *.* TO default`,
      `ALTER TABLE target FREEZE WITH NAME 'x'`,
      `SYSTEM SHUTDOWN`,
      `SELECT 'a' FORMAT Template SETTINGS format_template_resultset = '${secret}'`,
      `SELECT 'a' FORMAT Protobuf SETTINGS format_schema = '${secret}:A'`,
      `SET input_format_record_errors_file_path = '${written}'`,
      `SET dialect = 'kusto'`,
      `?? list the tables`,
      // Expressions that are built only at evaluation.
      `SELECT * FROM format('Values', 'a String', '(fi' || 'le(\\'${secret}\\'))')`,
      `SELECT * FROM format(JSONEachRow, 'a String DEFAULT fi' || 'le(\\'${secret}\\')', '{}')`,
      `SELECT * FROM generateRandom('a String ALIAS fi' || 'le(\\'${secret}\\')') LIMIT 1`,
    ])
      await expectRejected(sql);
  });

  test("by parameters, settings or a body sent along with the statement", async () => {
    await expectRejected(
      `SELECT arrayMap({f: Identifier}, ['${secret}'])`,
      parameters({ param_f: "file" }),
    );
    await expectRejected(
      "SELECT 1",
      parameters({ additional_result_filter: `file('${secret}') != ''` }),
    );
    await expectRejected(
      "SELECT 1 AS a SETTINGS additional_result_filter = {f: String}",
      parameters({ param_f: `file('${secret}') != ''` }),
    );
    await expectRejected(
      "SET additional_result_filter = {f: String}",
      parameters({ param_f: `file('${secret}') != ''` }),
    );
    await expectRejected("SELECT 1", parameters({ format_schema: secret }));
    await expectRejected(
      "SELECT 1 SETTINGS output_format_schema = {f: String}",
      parameters({ param_f: written }),
    );
    await expectRejected(`*/ INTO OUTFILE '${written}'`, parameters({ query: "SELECT 1 /*" }));
    await expectRejected(
      `INTO OUTFILE '${written}'`,
      parameters({ query: "INSERT INTO target SELECT 1 FORMAT JSONEachRow" }),
    );
    await expectRejected(
      `(file('${secret}'))`,
      parameters({ query: "INSERT INTO target FORMAT Values" }),
    );
    await expectRejected(
      `{"a":"1"}\n; SELECT 1 INTO OUTFILE '${written}'`,
      parameters({ query: "INSERT INTO target FORMAT JSONEachRow" }),
    );
  });

  test("while rows may contain any word", async () => {
    const values = [{ a: "file('x') INTO OUTFILE ?? \\x url( ENGINE = File" }];
    await client.command({ query: "TRUNCATE TABLE target" });
    await client.insert({ table: "target", values, format: "JSONEachRow" });
    expect(await rows("SELECT a FROM target")).toEqual(values);
    expect(await rows("SELECT a FROM target WHERE a = {a: String}", { ...values[0] })).toEqual(
      values,
    );
  });
});
