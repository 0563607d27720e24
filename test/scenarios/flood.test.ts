/** Goal: no number of connections keeps a visitor out, or loses a click. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import { runFlood } from "../flood/run.ts";
import { type Stack, startStack } from "../harness/stack.ts";

let stack: Stack;

beforeAll(async () => {
  stack = await startStack();
});
afterAll(() => stack[Symbol.asyncDispose]());

describe("a flood of connections", () => {
  test("keeps no visitor out, even beyond the limit, and loses no click", async () => {
    const limit = 500;
    const { phases, redirects, stored } = await runFlood(stack, {
      idle: 2 * limit,
      slow: 200,
      perSecond: 400,
      seconds: 5,
      quietSeconds: 2,
      clicksPerSecond: 40,
      env: { CONNECTIONS_MAX: String(limit) },
      log: console.log,
    });
    const [before, idle, afterIdle, slow, afterSlow, fresh, afterFresh] = phases;
    expect(idle?.evicted).toBeGreaterThan(limit / 2);
    for (const phase of phases) expect(phase.openMax).toBeLessThanOrEqual(limit);
    for (const phase of [before, afterIdle, slow, afterSlow, fresh, afterFresh])
      expect(phase?.visitors.failures).toBe(0);
    // A visitor that is slower than all places are taken anew, on a machine without time for it, is
    // kept out.
    const { failures = 0, clicks = 0 } = idle?.visitors ?? {};
    expect(failures).toBeLessThan(clicks / 10);
    expect(redirects).toBeGreaterThan(400);
    // A response may come too late for its visitor.
    expect(stored - redirects).toBeGreaterThanOrEqual(0);
    expect(stored - redirects).toBeLessThanOrEqual(failures);
  }, 120_000);
});
