/** Goal: a route by which a key takes more of a process than it may is a missed target. */
import { expect, test } from "bun:test";

import type { Amplification } from "./measure.ts";
import { mapCpu, type Process } from "./meter.ts";
import { listTargets, toRow } from "./report.ts";

const MINUTES = { free: 60, pro: 300, business: 1_000 };

/** A route of which each call takes so many milliseconds of one process. */
const row = (process: Process, ms: number, perMinute = MINUTES): Amplification => ({
  method: "GET",
  route: "/v1/links",
  input: "",
  status: 200,
  call: mapCpu((one) => (one === process ? ms : 0)),
  perMinute,
});

const missed = (rows: readonly Amplification[]): string[] =>
  listTargets(rows, MINUTES)
    .filter(({ met }) => !met)
    .map(({ name }) => name);

test("a call a second of 50 ms is a twentieth of a core", () => {
  expect(toRow(row("api", 50))["% of a core at most"]).toBe(5);
  expect(missed([row("api", 50), row("nats", 1)])).toEqual([]);
  expect(missed([row("api", 1), row("api", 51)])).toEqual([
    "most of a core that a free key takes of api, %",
  ]);
});

test("every call has the same budget of a store's time, whatever the plan", () => {
  expect(missed([row("postgres", 50)])).toEqual([]);
  // A route of which larger plans may make more calls than in proportion.
  const more = { free: 10, pro: 300, business: 5_000 };
  expect(missed([row("clickhouse", 60, more)])).toEqual([
    "most of a core that a pro key takes of clickhouse, %",
    "most of a core that a business key takes of clickhouse, %",
  ]);
});

test("a call that is refused or fails measures nothing", () => {
  expect(missed([{ ...row("api", 1), status: 400 }])).toEqual([]);
  expect(missed([{ ...row("api", 1), status: 429 }])).toEqual([
    "calls that failed or were refused",
  ]);
  expect(missed([{ ...row("api", 1), status: 500 }])).toHaveLength(1);
});
