/** Goal: a backtest of as many clicks as it reads leaves the event loop to others in between. */
import { expect, spyOn, test } from "bun:test";

import { Registry } from "prom-client";

import { newUuid } from "../../../shared/ids.ts";
import { inChunks } from "../../../test/harness/chunks.ts";
import { MeasuredClickHouse, openClickHouse } from "../../clickhouse.ts";
import { backtestRules } from "./backtest.ts";
import { backtestBody } from "./model.ts";

const CLICKS_MAX = 50_000;

/** On a busy machine a turn takes 15 ms; reading all rows at once took more than 35. */
const TURN_MS_MAX = 30;

/** In the first ones, code is compiled and garbage of other tests collected. */
const ATTEMPTS = 3;

const RANGE = { from: Date.UTC(2026, 0, 1), to: Date.UTC(2026, 1, 1) };

/**
 * A server that answers every query with as many rows as a backtest reads at most, none like
 * another.
 */
function serveRows() {
  const lines = Array.from({ length: CLICKS_MAX }, (_, i) =>
    JSON.stringify({
      at: String(RANGE.from + i),
      country: "DE",
      continent: "EU",
      device: "mobile",
      os: "iOS",
      browser: `Browser ${i}`,
      language: "de",
      referrer: `${i}.example.com`,
      clicks: "1",
      oldest: String(RANGE.from + i),
    }),
  );
  const body = Buffer.from(`${lines.join("\n")}\n`);
  return Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response(body) });
}

/**
 * The processor time of this thread, in milliseconds: other programs have the processor meanwhile.
 */
function readCpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/**
 * The longest turn of the event loop while `work` is under way, in milliseconds of processor time.
 */
async function measureLongestTurn(work: () => Promise<void>): Promise<number> {
  let longestMs = 0;
  let last = readCpuMs();
  const immediates = { stopped: false };
  const next = () => {
    const now = readCpuMs();
    longestMs = Math.max(longestMs, now - last);
    last = now;
    if (!immediates.stopped) setImmediate(next);
  };
  setImmediate(next);
  await work();
  await Bun.sleep(0);
  immediates.stopped = true;
  return longestMs;
}

test("50,000 different clicks and 200 conditions leave turns to others", async () => {
  using server = serveRows();
  const rules = Array.from({ length: 20 }, (_, rule) => ({
    url: "https://example.com/",
    conditions: Array.from({ length: 10 }, (_, i) => ({
      type: "referrer" as const,
      in: Array.from({ length: 20 }, (_, value) => `${rule}-${i}-${value}.example.org`),
      not: i < 9,
    })),
  }));
  const client = openClickHouse(server.url.href);
  const clickhouse = new MeasuredClickHouse(client, new Registry()).forService();
  const turns: number[] = [];
  for (let i = 0; i < ATTEMPTS; i++) {
    const longestMs = await measureLongestTurn(async () => {
      const result = await backtestRules(clickhouse, newUuid(), rules, RANGE);
      expect(result).toMatchObject({ clicks: CLICKS_MAX, otherwise: { clicks: CLICKS_MAX } });
    });
    turns.push(longestMs);
  }
  await client.close();
  console.log(`The longest turns took ${turns.map((ms) => ms.toFixed(1)).join(", ")} ms`);
  expect(Math.min(...turns)).toBeLessThan(TURN_MS_MAX);
});

test("others have a turn after each click that has used up the backtest's", async () => {
  const clicks = 20;
  const row = JSON.stringify({ at: "0", country: "DE", clicks: "1", oldest: "0" });
  const clickhouse = { chunks: async () => inChunks(`${row}\n`.repeat(clicks), 65_536) };
  const rules = [
    { url: "https://example.com/", conditions: [{ type: "country" as const, in: ["DE"] }] },
  ];
  let now = 0;
  // Longer than a turn passes between any two looks at the clock.
  using clock = spyOn(performance, "now").mockImplementation(() => (now += 1_000));
  using turns = spyOn(globalThis, "setImmediate");
  expect(await backtestRules(clickhouse, newUuid(), rules, RANGE)).toMatchObject({ clicks });
  // What earlier tests have left open may use the function, too.
  expect(turns.mock.calls.length).toBeGreaterThanOrEqual(clicks);
  expect(clock).toHaveBeenCalled();
});

test("the time zones of 200 schedules are checked without a formatter for each", () => {
  const zones = Intl.supportedValuesOf("timeZone").slice(0, 200);
  const rules = Array.from({ length: 20 }, (_, rule) => ({
    url: "https://example.com/",
    conditions: zones.slice(10 * rule, 10 * rule + 10).map((time_zone) => ({
      type: "schedule",
      time_zone,
      days: [1],
      from: "09:00",
      to: "17:00",
    })),
  }));
  // One takes as long as a hundred conditions of another kind.
  const formatter = spyOn(Intl, "DateTimeFormat");
  expect(backtestBody.safeParse({ rules }).success).toBe(true);
  expect(formatter).not.toHaveBeenCalled();
  formatter.mockRestore();
});

test.each(["Mars/Base", "", "2026-01-01T00:00[Europe/Berlin]", "Europe/Berlin "])(
  "%p is no time zone",
  (time_zone) => {
    const schedule = { type: "schedule", time_zone, days: [1], from: "09:00", to: "17:00" };
    const rules = [{ url: "https://example.com/", conditions: [schedule] }];
    expect(backtestBody.safeParse({ rules }).success).toBe(false);
  },
);
