import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { generateKey } from "./api-key.ts";
import type { AccessRule, Ruling } from "./authorize.ts";
import { createAuthorizer } from "./authorizer.ts";

const key = generateKey("live");
const rule: AccessRule = { scope: "links:read", limit: null, cost: 1 };

/** A window that takes `allowed` requests and never closes, as PostgreSQL would keep it. */
function createWindow(allowed: number) {
  let spent = 0;
  const questions: number[] = [];
  const ask = async (
    _id: string,
    _key: unknown,
    _rule: AccessRule,
    wanted: number,
  ): Promise<Ruling> => {
    questions.push(wanted);
    await Promise.resolve();
    const granted = Math.min(wanted, allowed - spent);
    spent += granted;
    return {
      verdict: granted === 0 && wanted > 0 ? "limited" : "ok",
      granted,
      principal: { callerId: "k", accountId: "a", mode: "live", scopes: [], plan: "free" },
      now: 0,
      suspendedUntil: null,
      windows: [{ name: "minute", allowed, seconds: 60, spent, resetsAt: 60_000 }],
    };
  };
  return { ask, questions };
}

describe("asking about many requests of one key at once", () => {
  test("grants exactly what the window takes, each with the figures of its own turn", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 300 }),
        fc.integer({ min: 1, max: 300 }),
        async (allowed, requests) => {
          const { ask } = createWindow(allowed);
          const authorize = createAuthorizer(ask);
          const verdicts = await Promise.all(
            Array.from({ length: requests }, () => authorize("id", key, rule)),
          );
          const granted = verdicts.filter((verdict) => verdict?.verdict === "ok");
          expect(granted.map((verdict) => verdict?.windows[0]?.spent)).toEqual(
            Array.from({ length: Math.min(allowed, requests) }, (_, i) => i + 1),
          );
          for (const verdict of verdicts.slice(granted.length)) {
            expect(verdict).toMatchObject({ verdict: "limited", windows: [{ spent: allowed }] });
          }
        },
      ),
    );
  });

  test("asks at once for the first, and for those that came meanwhile together", async () => {
    const { ask, questions } = createWindow(1_000);
    const authorize = createAuthorizer(ask);
    await Promise.all(Array.from({ length: 51 }, () => authorize("id", key, rule)));
    expect(questions).toEqual([1, 50]);
    await authorize("id", key, rule);
    expect(questions).toEqual([1, 50, 1]);
  });

  test("keeps keys and rules apart", async () => {
    const { ask, questions } = createWindow(1_000);
    const authorize = createAuthorizer(ask);
    await Promise.all([
      authorize("one", key, rule),
      authorize("two", key, rule),
      authorize("one", key, { ...rule, scope: "links:write" }),
      authorize("one", key, { ...rule, cost: 0 }),
    ]);
    expect(questions).toEqual([1, 1, 1, 0]);
  });

  test("tells a failure to all who waited, and asks anew afterwards", async () => {
    let failing = true;
    const { ask } = createWindow(10);
    const authorize = createAuthorizer((...question) =>
      failing ? Promise.reject(new Error("down")) : ask(...question),
    );
    const results = await Promise.allSettled(
      Array.from({ length: 5 }, () => authorize("id", key, rule)),
    );
    expect(results.every(({ status }) => status === "rejected")).toBe(true);
    failing = false;
    expect(await authorize("id", key, rule)).toMatchObject({ verdict: "ok" });
  });
});
