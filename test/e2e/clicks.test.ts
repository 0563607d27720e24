/** Goal: every redirect that was answered is one click everywhere, whatever goes wrong meanwhile. */
import { expect, test } from "bun:test";

import { runChaos } from "../chaos/run.ts";

/** Each kind of fault once; `bun run test:chaos` goes on for longer. */
const FAULTS = 13;

test("clicks equal answers, per link, through every kind of fault", async () => {
  const seed = Date.now() % 1_000_000;
  console.log(`seed ${seed}`);
  const { answered, stored, unsure, faults } = await runChaos({
    seed,
    faults: FAULTS,
    pauseMs: 6_000,
    answersMax: 200_000,
    log: console.log,
  });
  expect(new Set(faults).size).toBe(FAULTS);
  expect(stored).toBeGreaterThanOrEqual(answered);
  expect(stored).toBeLessThanOrEqual(answered + unsure);
});
