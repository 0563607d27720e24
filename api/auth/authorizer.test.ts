import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import type { AccessRule } from "./access-rules.ts";
import { generateKey } from "./api-key.ts";
import type { BatchResult } from "./authorize.ts";
import { createAuthorizer } from "./authorizer.ts";

const key = generateKey("live");
const rule: AccessRule = { scope: "links:read", limit: null, cost: 1 };

/** A window that grants `limit` requests and never closes, as PostgreSQL would count it. */
function createWindow(limit: number) {
  let used = 0;
  const batches: number[] = [];
  const authorizeBatch = async (
    _id: string,
    _key: unknown,
    _rule: AccessRule,
    wanted: number,
  ): Promise<BatchResult> => {
    batches.push(wanted);
    await Promise.resolve();
    const granted = Math.min(wanted, limit - used);
    used += granted;
    return {
      verdict: granted === 0 && wanted > 0 ? "limited" : "ok",
      granted,
      principal: { callerId: "k", accountId: "a", mode: "live", scopes: [], plan: "free" },
      now: 0,
      suspendedUntil: null,
      windows: [{ name: "minute", limit, seconds: 60, used, resetsAt: 60_000 }],
    };
  };
  return { authorizeBatch, batches };
}

describe("coalescing concurrent requests of one key", () => {
  test("grants exactly what the window has left, each with the counts at its own turn", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 300 }),
        fc.integer({ min: 1, max: 300 }),
        async (limit, requests) => {
          const { authorizeBatch } = createWindow(limit);
          const authorize = createAuthorizer(authorizeBatch);
          const results = await Promise.all(
            Array.from({ length: requests }, () => authorize("id", key, rule)),
          );
          const granted = results.filter((result) => result?.verdict === "ok");
          expect(granted.map((result) => result?.windows[0]?.used)).toEqual(
            Array.from({ length: Math.min(limit, requests) }, (_, i) => i + 1),
          );
          for (const result of results.slice(granted.length)) {
            expect(result).toMatchObject({ verdict: "limited", windows: [{ used: limit }] });
          }
        },
      ),
    );
  });

  test("queries at once for the first request, then once for all that arrived meanwhile", async () => {
    const { authorizeBatch, batches } = createWindow(1_000);
    const authorize = createAuthorizer(authorizeBatch);
    await Promise.all(Array.from({ length: 51 }, () => authorize("id", key, rule)));
    expect(batches).toEqual([1, 50]);
    await authorize("id", key, rule);
    expect(batches).toEqual([1, 50, 1]);
  });

  test("queries separately for each key and rule", async () => {
    const { authorizeBatch, batches } = createWindow(1_000);
    const authorize = createAuthorizer(authorizeBatch);
    await Promise.all([
      authorize("one", key, rule),
      authorize("two", key, rule),
      authorize("one", key, { ...rule, scope: "links:write" }),
      authorize("one", key, { ...rule, cost: 0 }),
    ]);
    expect(batches).toEqual([1, 1, 1, 0]);
  });

  test("rejects all waiting requests on a failure, and queries again afterwards", async () => {
    let failing = true;
    const { authorizeBatch } = createWindow(10);
    const authorize = createAuthorizer((...args) =>
      failing ? Promise.reject(new Error("down")) : authorizeBatch(...args),
    );
    const results = await Promise.allSettled(
      Array.from({ length: 5 }, () => authorize("id", key, rule)),
    );
    expect(results.every(({ status }) => status === "rejected")).toBe(true);
    failing = false;
    expect(await authorize("id", key, rule)).toMatchObject({ verdict: "ok" });
  });
});
