/** Goal: every redirect that a client received is exactly one click everywhere, under any fault. */
import { expect, test } from "bun:test";

import { KINDS } from "../chaos/kinds.ts";
import { runChaos } from "../chaos/run.ts";

/** Each kind of fault once; `bun run test:chaos` runs longer. */
const FAULTS = Object.keys(KINDS).length;

test("stored clicks equal redirects, per link, under every kind of fault", async () => {
  const seed = Date.now() % 1_000_000;
  console.log(`seed ${seed}`);
  const { redirected, stored, unknown, faults } = await runChaos({
    seed,
    faults: FAULTS,
    pauseMs: 6_000,
    setBackMs: 10_000,
    redirectsMin: 0,
    redirectsMax: 200_000,
    log: console.log,
  });
  expect(new Set(faults).size).toBe(FAULTS);
  expect(stored).toBeGreaterThanOrEqual(redirected);
  expect(stored).toBeLessThanOrEqual(redirected + unknown);
});
