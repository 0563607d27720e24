/** Goal: a stop never waits for the rest of a pause, and does not shorten the next one. */
import { expect, test } from "bun:test";

import { createPause } from "./pause.ts";

/** Longer than any test may take. */
const LONG_MS = 3_600_000;

test("a pause ends by itself, or as soon as it is ended", async () => {
  await createPause(1).start();
  const pause = createPause(LONG_MS);
  pause.end();
  const paused = pause.start();
  expect(Bun.peek.status(paused)).toBe("pending");
  pause.end();
  await paused;
});
