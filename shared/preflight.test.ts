import { expect, test } from "bun:test";

import { checkClock, runChecks } from "./preflight.ts";

const find = async (offsetMs: number, delayMs = 0) => {
  const [finding] = await runChecks([
    checkClock("NATS", async () => {
      await Bun.sleep(delayMs);
      return Date.now() + offsetMs;
    }),
  ]);
  return finding;
};

test("a clock that is off by more than a second is named, with its direction", async () => {
  expect(await find(0)).toEqual({ check: "clock of NATS", status: "ok" });
  expect(await find(10_000)).toMatchObject({
    status: "warning",
    detail: expect.stringMatching(/^it is \d+\.\d s ahead of this machine's$/),
  });
  expect(await find(-3_600_000)).toMatchObject({
    status: "failed",
    detail: expect.stringContaining("behind this machine's"),
  });
});

test("a slow answer is not taken for a wrong clock", async () => {
  // In the middle of the wait, their clock would be 1.5 s ahead.
  expect(await find(0, 3_000)).toMatchObject({ status: "ok" });
});
