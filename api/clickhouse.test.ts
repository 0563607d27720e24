/** Goal: the time that a query is said to take is ClickHouse's, not that of others or of a client. */
import { afterEach, expect, test } from "bun:test";

import { Registry } from "prom-client";

import { boundsOf } from "../shared/budgets.ts";
import { queryRows, readChunks } from "../shared/clicks/query.ts";
import { QueueFull } from "../shared/fair-queue.ts";
import { newUuid } from "../shared/ids.ts";
import { clickHouseClient, MeasuredClickHouse } from "./clickhouse.ts";
import { ApiError } from "./http/errors.ts";
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
    override spend(_: unknown, __: unknown, ms: number) {
      // What is reserved, and given back.
      if (Math.abs(ms) !== 200) times.push(ms);
    }
  }
  const client = new MeasuredClickHouse(clickHouseClient(url), registry, new Noted());
  return { clickhouse: client.for(newReader()), times };
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
  expect(times).toHaveLength(queries);
  for (const ms of times) expect(ms).toBeGreaterThan(25);
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

const newReader = () => ({ accountId: newUuid(), mode: "live", plan: "free" }) as const;

/**
 * Many queries at once of an account, and one of another after them; each takes a millisecond to
 * answer, and ClickHouse reports `ms`.
 */
async function queryAtOnce(count: number, ms: number) {
  let [running, most] = [0, 0];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch() {
      most = Math.max(most, ++running);
      await Bun.sleep(1);
      running--;
      return new Response("", {
        headers: { "x-clickhouse-summary": JSON.stringify(summaryOf(10_000_000, ms)) },
      });
    },
  });
  servers.push(server);
  const budgets = new Budgets();
  const client = clickHouseClient(server.url.href);
  const clickhouse = new MeasuredClickHouse(client, new Registry(), budgets);
  const [owner, other] = [newReader(), newReader()];
  let before = 0;
  const answered = Array.from({ length: count }, async () => {
    try {
      await queryRows(clickhouse.for(owner), "SELECT 1");
      before++;
      return "answered";
    } catch (error) {
      if (error instanceof QueueFull) return error.of;
      return error instanceof ApiError ? error.reason : String(error);
    }
  });
  await queryRows(clickhouse.for(other), "SELECT 1");
  const beforeOther = before;
  const outcomes = Map.groupBy(await Promise.all(answered), (outcome) => outcome);
  const counts = Object.fromEntries([...outcomes].map(([name, list]) => [name, list.length]));
  const left = budgets.list(owner).find(({ name }) => name === "statistics")?.left ?? 0;
  return { most, beforeOther, counts, left };
}

test("an account with very many queries at once keeps another waiting for those that run", async () => {
  const { most, beforeOther, counts } = await queryAtOnce(250, 1);
  console.log(`${beforeOther} of 250 were answered before another account's; ${most} ran at once`);
  // Its own, and the other account's.
  expect(most).toBeLessThanOrEqual(5);
  expect(beforeOther).toBeLessThanOrEqual(8);
  // Those that run and wait; the rest is refused at once.
  expect(counts["answered"]).toBeLessThanOrEqual(4 + 64);
});

test("queries at once take no more than the budget, however long each takes", async () => {
  const { counts, left } = await queryAtOnce(60, 9_000);
  const { atOnce } = boundsOf("statistics", "free");
  console.log(`60 queries of 9 s at once: ${JSON.stringify(counts)}, ${Math.round(left)} ms left`);
  expect(counts["rate_limited"]).toBeGreaterThan(40);
  // Those that ran when the rest was used up.
  expect(left).toBeGreaterThan(atOnce - 9_000 * 8);
});
