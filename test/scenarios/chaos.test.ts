/**
 * Goal: every redirect that a client received is exactly one click everywhere, and every change of a
 * link one event that a webhook gets, under any fault.
 */
import { expect, test } from "bun:test";

import { runChaos } from "../chaos/run.ts";
import { ALWAYS, kindsTouchedBy } from "../chaos/touched.ts";

/**
 * Always the same order and durations; `bun run test:chaos` takes another one each time, and all
 * kinds.
 */
const SEED = 1;

/** Requests per fault after which clients slow down: some seconds of full load. */
const REDIRECTS_PER_FAULT = 4_000;

/** Paths of changed files, one a line, whose kinds of faults are added. */
const { SHORTHOP_TEST_CHANGED: changed = "" } = process.env;

test("stored clicks equal redirects, per link, under faults of each process and each store", async () => {
  const kinds = [...ALWAYS, ...kindsTouchedBy(changed.split("\n"))];
  const { redirected, stored, unknown, delivered, faults } = await runChaos({
    seed: SEED,
    kinds,
    faults: kinds.length,
    pauseMs: 6_000,
    setBackMs: 10_000,
    redirectsMin: 0,
    redirectsMax: kinds.length * REDIRECTS_PER_FAULT,
    log: console.log,
  });
  expect(faults.toSorted()).toEqual(kinds.toSorted());
  expect(delivered).toBeGreaterThan(0);
  expect(stored).toBeGreaterThanOrEqual(redirected);
  expect(stored).toBeLessThanOrEqual(redirected + unknown);
});
