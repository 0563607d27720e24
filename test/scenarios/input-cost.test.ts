/**
 * Goal: no input at its bounds costs more than in proportion to its size. The short form of the
 * cost guard: each part of a request once, judged by CPU time and its growth. `bun
 * test/hostile/main.ts --cost` combines all pairs, with a third of the budgets.
 */
import { beforeAll, expect, test } from "bun:test";

import { startDns } from "../harness/dns.ts";
import { startStack } from "../harness/stack.ts";
import { type CostRow, guardCosts } from "../hostile/cost/guard.ts";
import { countAccepted, formatRow, listUnmeasured } from "../hostile/cost/table.ts";

/** Budgets are multiplied by it: CPU time does not depend on what else runs, but on the machine. */
const SLOWDOWN = 3;

let rows: CostRow[];

beforeAll(async () => {
  await using dns = await startDns();
  await using stack = await startStack({ env: { DNS_SERVERS: dns.address } });
  rows = await guardCosts(stack, { pairwise: false, slowdown: SLOWDOWN, log: console.log });
});

test("no input at its bounds costs more than in proportion to its size", () => {
  expect(rows.filter(({ fault }) => fault !== undefined).map(formatRow)).toEqual([]);
});

test("no route is kept from being measured by a limit", () => {
  expect(listUnmeasured(rows)).toEqual([]);
});

test("visitors' requests at their bounds are served, except of unknown links", () => {
  const visits = countAccepted(rows.filter(({ target }) => target.startsWith("redirector")));
  expect(visits.length).toBeGreaterThan(20);
  const rejected = visits.filter(({ accepted }) => accepted === 0);
  expect(rejected.map(({ route }) => route)).toEqual([
    "redirector GET /cost-plain, unknown host",
    "redirector GET /cost-plain, unknown alias",
  ]);
});
