/**
 * Goal: no input on any route can stop the product, or costs more than in proportion to its size.
 * The short form: some inputs, others in each run. The scenarios send them for longer, and all.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";

import { createAccount } from "../harness/admin.ts";
import { type Dns, startDns } from "../harness/dns.ts";
import { SEED } from "../harness/seed.ts";
import { type Stack, startStack } from "../harness/stack.ts";
import { guardCosts } from "../hostile/cost/guard.ts";
import { formatRow, listUnmeasured } from "../hostile/cost/table.ts";
import { UNLIMITED } from "../hostile/fixtures.ts";
import { listRoutes } from "../hostile/routes.ts";
import { attackStack } from "../hostile/run.ts";

/** Enough for many of the routes, and for every generator of inputs. */
const SECONDS = 5;
const RATE = 250;

/** Coarse, for any machine: known faults stalled a process for 2 to 16 seconds. */
const STALL_MS_MAX = 1_000;

/** Inputs at their bounds whose costs are measured. */
const MEASURED = 60;

/** Budgets are multiplied by it: CPU time does not depend on what else runs, but on the machine. */
const SLOWDOWN = 3;

let dns: Dns;
let stack: Stack;

beforeAll(async () => {
  dns = await startDns();
  stack = await startStack({ env: { DNS_SERVERS: dns.address } });
});
afterAll(async () => {
  await stack[Symbol.asyncDispose]();
  await dns[Symbol.asyncDispose]();
});

test("inputs on every route end and stall no process, and disturb no legitimate client", async () => {
  const report = await attackStack(stack, {
    seed: SEED,
    seconds: SECONDS,
    baselineSeconds: 1,
    rate: RATE,
    explainFromMs: STALL_MS_MAX,
    log: console.log,
  });
  const faults = report.findings.filter(({ kind }) => kind !== "no response");
  expect(faults).toEqual([]);
  // The scenario sends enough for every route.
  const attacked = new Set(report.rows.map(({ route }) => route));
  expect(attacked.size).toBeGreaterThan(listRoutes().length / 4);
  expect(report.client.attack.redirector.count).toBeGreaterThan(SECONDS);
  expect(report.client.attack.api.count).toBeGreaterThan(SECONDS);
  for (const [name, ms] of Object.entries(report.longestStalls))
    expect(ms, name).toBeLessThan(STALL_MS_MAX);
});

test("inputs at their bounds cost no more than in proportion to their size", async () => {
  const rows = await guardCosts(stack, {
    pairwise: false,
    slowdown: SLOWDOWN,
    some: { count: MEASURED, seed: SEED },
    account: await createAccount(stack, "enterprise", UNLIMITED),
    log: console.log,
  });
  expect(rows.filter(({ fault }) => fault !== undefined).map(formatRow)).toEqual([]);
  expect(listUnmeasured(rows)).toEqual([]);
});
