/** Goal: the time that a query is said to take is ClickHouse's, not that of others or of a client. */
import { afterEach, expect, test } from "bun:test";

import { Registry } from "prom-client";

import { queryRows, readChunks } from "../shared/clicks/query.ts";
import { newUuid } from "../shared/ids.ts";
import { MeasuredClickHouse, openClickHouse } from "./clickhouse.ts";
import { Budgets } from "./limits/budgets.ts";

const MEBIBYTE = 1024 * 1024;

const servers: { stop(closeActive?: boolean): unknown }[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop(true);
});

/** A client of a server that reports a summary with each response. */
function createClient(summary: Record<string, string> | undefined, body = '{"n":1}\n') {
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: () =>
      new Response(body, {
        headers: summary === undefined ? {} : { "x-clickhouse-summary": JSON.stringify(summary) },
      }),
  });
  servers.push(server);
  const registry = new Registry();
  const { clickhouse, times } = readAsAccount(server.url.href, registry);
  const readSeconds = async (): Promise<number> => {
    const metric = await registry.getSingleMetric("shorthop_api_clickhouse_seconds_total")?.get();
    return metric?.values[0]?.value ?? Number.NaN;
  };
  return { clickhouse, times, readSeconds };
}

/** ClickHouse for an account, and what is taken from its budget for each query. */
function readAsAccount(url: string, registry = new Registry()) {
  const times: number[] = [];
  class Noted extends Budgets {
    override reserve() {
      return (ms: number) => void times.push(ms);
    }
    override spend(_: unknown, __: unknown, ms: number) {
      times.push(ms);
    }
  }
  const client = new MeasuredClickHouse(openClickHouse(url), registry, new Noted());
  const reader = { accountId: newUuid(), mode: "live", plan: "free" } as const;
  return { clickhouse: client.for(reader), times };
}

const summaryOf = (rows: number, ms: number) => ({
  read_rows: String(rows),
  read_bytes: "1",
  elapsed_ns: String(ms * 1e6),
});

test.each([
  ["as long as ClickHouse reports", 1_000_000, 120, 120],
  ["no longer than its rows can explain", 1_000, 4_000, 6],
  ["next to nothing without rows", 0, 4_000, 1],
])("a query takes %s", async (_, rows, ms, expected) => {
  const { clickhouse, times, readSeconds } = createClient(summaryOf(rows, ms));
  expect(await queryRows<{ n: number }>(clickhouse, "SELECT 1 AS n")).toEqual([{ n: 1 }]);
  expect(times).toEqual([expected]);
  expect(await readSeconds()).toBeCloseTo(expected / 1_000, 6);
});

test("a query takes as long as an engine reports that does not say what it has read", async () => {
  const { clickhouse, times } = createClient({ elapsed_ns: "4000000000" });
  await queryRows(clickhouse, "SELECT 1 AS n");
  expect(times).toEqual([4_000]);
});

test.each([
  ["that ClickHouse ended for its time is work", 159, "TIMEOUT_EXCEEDED", 1],
  ["that is wrong is none", 62, "SYNTAX_ERROR", 0],
])("a query %s", async (_, code, name, queries) => {
  using server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch() {
      await Bun.sleep(30);
      return new Response(`Code: ${code}. DB::Exception: No. (${name}) (version 25.8.1.1)`, {
        status: 500,
      });
    },
  });
  const { clickhouse, times } = readAsAccount(server.url.href);
  const query = queryRows(clickhouse, "SELECT 1");
  expect(await query.catch((error: unknown) => error)).toHaveProperty("code", String(code));
  const [ms = 0] = times;
  expect([times.length, ms > 25]).toEqual([1, queries > 0]);
});

test("a server that reports nothing is not guessed at", async () => {
  const { clickhouse, times } = createClient(undefined);
  await queryRows(clickhouse, "SELECT 1 AS n");
  expect(times).toEqual([0]);
});

test("rows that are read as they arrive take as long as writing them", async () => {
  const body = `${"1".repeat(MEBIBYTE - 1)}\n`.repeat(4);
  const { clickhouse, times } = createClient(summaryOf(1_000_000, 100), body);
  const sum = () => times.reduce((total, ms) => total + ms, 0);
  let bytes = 0;
  for await (const chunk of await readChunks(clickhouse, "SELECT 1 AS n", {}))
    bytes += chunk.length;
  expect(bytes).toBe(4 * MEBIBYTE);
  expect(sum()).toBeCloseTo(140, 6);
});
