import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
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
import { GATEWAY_FLAG } from "../stack.ts";

type Gateway = { url: string; process: Bun.Subprocess<"ignore", "pipe", "inherit"> };

const PASSWORD = "password of this test";

const dataDir = mkdtempSync(join(tmpdir(), "shorthop-gateway-"));
let gateway: Gateway;
let client: ClickHouseClient;

async function startGateway(): Promise<Gateway> {
  const child = Bun.spawn(["bun", GATEWAY_FLAG, join(import.meta.dir, "main.ts")], {
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

/** Reads a result as it is found, and stops after that many bytes. */
async function readBlocks(query: string, bytesMax = Infinity): Promise<string> {
  const { stream } = await client.exec({
    query: `${query} FORMAT TSV`,
    clickhouse_settings: { wait_end_of_query: 0, max_block_size: "1000" },
  });
  let text = "";
  for await (const block of stream) {
    text += String(block);
    if (text.length > bytesMax) break;
  }
  return text;
}

type Init = Omit<RequestInit, "headers"> & { headers?: Record<string, string> };

/** Sends a request with the password, unless `init` overrides it. */
const send = (search: string, init: Init = {}): Promise<Response> =>
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

  test("binds a list of 5,000 ids to a statement that is read in parts, whose URL has them", async () => {
    const ids = Array.from({ length: 5_000 }, () => crypto.randomUUID());
    const { stream } = await client.exec({
      query: "SELECT length({ids: Array(UUID)}) FORMAT TSV",
      query_params: { ids },
    });
    expect(await new Response(Readable.toWeb(stream)).text()).toBe("5000\n");
  });

  test("sends a result as it is found, whole or until nobody reads it", async () => {
    const query = "SELECT number, repeat('x', 100) FROM numbers(50000)";
    const lines = Array.from({ length: 50_000 }, (_, i) => `${i}\t${"x".repeat(100)}\n`);
    expect((await readBlocks(query)) === lines.join("")).toBe(true);
    expect(await readBlocks("SELECT 1 WHERE 0")).toBe("");
    // More than run at once.
    for (let i = 0; i < 10; i++)
      expect(
        (await readBlocks("SELECT number FROM numbers(1e12)", 10_000)).startsWith("0\n1\n"),
      ).toBe(true);
    expect(await readBlocks("SELECT 2")).toBe("2\n");
  });

  test("says of a result that is sent as it is found how long it took, without its wait", async () => {
    const others = Array.from({ length: 8 }, () => rows("SELECT sleep(0.5)"));
    const start = performance.now();
    const { stream, response_headers } = await client.exec({
      query: "SELECT 1 FORMAT TSV",
      clickhouse_settings: { wait_end_of_query: 0 },
    });
    const waitedMs = performance.now() - start;
    expect(await new Response(Readable.toWeb(stream)).text()).toBe("1\n");
    await Promise.all(others);
    const { elapsed_ns } = JSON.parse(String(response_headers["x-clickhouse-summary"]));
    expect(waitedMs).toBeGreaterThan(500);
    expect(Number(elapsed_ns) / 1e6).toBeLessThan(waitedMs / 2);
  });

  test("reports an error before the first rows, and breaks off at one after them", async () => {
    expect(await expectFailure(readBlocks("SELECT nothing"))).toHaveProperty("code", "47");
    const late = readBlocks("SELECT throwIf(number = 500000) FROM numbers(1000000)");
    expect(await late.catch((error: unknown) => error)).toBeInstanceOf(Error);
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

const status = async (init: Init, search = "?query=SELECT+1") => (await send(search, init)).status;

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
      "127.0.0.1:99999",
      "localhost.",
      "10.0.0.1",
    ])
      expect(await status({ headers: { host } })).toBe(403);
    for (const host of ["localhost", "127.0.0.1:1", "[::1]:8123"])
      expect(await status({ headers: { host } })).toBe(200);
  });
});

test("no table is of a file, a URL or another server: the user has no grant on a source", async () => {
  const secret = join(dataDir, "secret.csv");
  writeFileSync(secret, "a secret of this machine\n");
  for (const source of ["file", "url", "s3", "executable", "remote", "mysql", "sqlite"]) {
    const response = await send("", {
      method: "POST",
      body: `SELECT * FROM ${source}('${secret}', 'CSV', 'a String')`,
    });
    expect({ source, ok: response.ok }).toEqual({ source, ok: false });
    expect(await response.text()).not.toContain("a secret");
  }
});
