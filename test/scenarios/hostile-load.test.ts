/** Goal: no input on any route can stop the product. The scenario `hostile-long` runs longer. */
import { afterAll, beforeAll, expect, test } from "bun:test";

import { formatRoute, listRoutes } from "../hostile/routes.ts";
import { type HostileReport, runHostile } from "../hostile/run.ts";

/** Constant, so that every run is the same; longer runs use other seeds. */
const SEED = 1;
const SECONDS = 25;
const RATE = 250;

/** Coarse, for any machine: known faults stalled a process for 2 to 16 seconds. */
const STALL_MS_MAX = 1_000;

let report: HostileReport;

beforeAll(async () => {
  report = await runHostile({
    seed: SEED,
    seconds: SECONDS,
    baselineSeconds: 2,
    rate: RATE,
    explainFromMs: STALL_MS_MAX,
    log: console.log,
  });
});

const findingsOf = (kind: RegExp) => report.findings.filter((finding) => kind.test(finding.kind));

afterAll(() => {
  for (const { process, ms, causes } of report.stalls.slice(0, 3))
    console.log(`${process} was stalled for ${Math.round(ms)} ms`, ...causes);
});

test("every route is attacked", () => {
  const routes = listRoutes().map(formatRoute);
  expect(routes.length).toBeGreaterThan(90);
  expect(new Set(report.rows.map(({ route }) => route))).toEqual(new Set(routes));
});

test("no process ends", () => {
  expect(findingsOf(/process ended/)).toEqual([]);
});

test("server errors have a reason: no 5xx except 503 with a reason, and the HTTP parser's 501 and 505", () => {
  expect(findingsOf(/5xx|invalid HTTP/)).toEqual([]);
});

test("no client gets the response to another request", () => {
  expect(findingsOf(/another request's/)).toEqual([]);
});

test("a legitimate client gets its own responses, or 503", () => {
  expect(findingsOf(/legitimate client/)).toEqual([]);
  expect(report.client.attack.redirector.count).toBeGreaterThan(SECONDS);
  expect(report.client.attack.api.count).toBeGreaterThan(SECONDS);
});

test("no event loop is stalled for a second", () => {
  for (const [name, ms] of Object.entries(report.longestStalls))
    expect(ms, name).toBeLessThan(STALL_MS_MAX);
});
