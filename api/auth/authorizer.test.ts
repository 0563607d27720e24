import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { SYSTEM } from "../http/principal.ts";
import type { AccessRule } from "./access-rules.ts";
import { generateKey } from "./api-key.ts";
import { Authorizer, type KeyStore } from "./authorizer.ts";
import type { BatchResult } from "./sql.ts";

const key = generateKey("live");
const rule: AccessRule = { scope: "links:read", endpoint: null, cost: 1 };

/** A window that grants `limit` requests and never closes, as PostgreSQL would count it. */
function createWindow(limit: number) {
  let spent = 0;
  const batches: number[] = [];
  const authorizeOne = ({ wanted }: { wanted: number }): BatchResult => {
    batches.push(wanted);
    const granted = Math.min(wanted, limit - spent);
    spent += granted;
    return {
      verdict: granted === 0 && wanted > 0 ? "limited" : "ok",
      granted,
      principal: {
        callerId: "k",
        actor: SYSTEM,
        accountId: "a",
        mode: "live",
        scopes: [],
        plan: "free",
      },
      now: 0,
      throttledUntil: null,
      isReplaced: false,
      allowedNetworks: [],
      windows: [{ name: "minute", limit, seconds: 60, spent, resetsAt: 60_000 }],
    };
  };
  const authorizeAll: KeyStore["authorize"] = async (groups) => {
    const results = groups.map(authorizeOne);
    await Promise.resolve();
    return results;
  };
  return { authorizeAll, batches };
}

describe("coalescing concurrent requests of one key", () => {
  test("grants exactly what the window has left, each with the counts at its own turn", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 300 }),
        fc.integer({ min: 1, max: 300 }),
        async (limit, requests) => {
          const { authorizeAll } = createWindow(limit);
          const authorizer = new Authorizer({ authorize: authorizeAll });
          const results = await Promise.all(
            Array.from({ length: requests }, () => authorizer.authorize("id", key, rule, null)),
          );
          const granted = results.filter((result) => result?.verdict === "ok");
          expect(granted.map((result) => result?.windows[0]?.spent)).toEqual(
            Array.from({ length: Math.min(limit, requests) }, (_, i) => i + 1),
          );
          for (const result of results.slice(granted.length)) {
            expect(result).toMatchObject({ verdict: "limited", windows: [{ spent: limit }] });
          }
        },
      ),
    );
  });

  test("asks separately for each key and rule", async () => {
    const { authorizeAll, batches } = createWindow(1_000);
    const authorizer = new Authorizer({ authorize: authorizeAll });
    await Promise.all([
      authorizer.authorize("one", key, rule, null),
      authorizer.authorize("two", key, rule, null),
      authorizer.authorize("one", key, { ...rule, scope: "links:write" }, null),
      authorizer.authorize("one", key, { ...rule, cost: 0 }, null),
    ]);
    expect(batches).toEqual([1, 1, 1, 0]);
  });

  test("rejects all waiting requests on a failure, and queries again afterwards", async () => {
    let failing = true;
    const { authorizeAll } = createWindow(10);
    const authorizer = new Authorizer({
      authorize: (groups) => (failing ? Promise.reject(new Error("down")) : authorizeAll(groups)),
    });
    const results = await Promise.allSettled(
      Array.from({ length: 5 }, () => authorizer.authorize("id", key, rule, null)),
    );
    expect(results.every(({ status }) => status === "rejected")).toBe(true);
    failing = false;
    expect(await authorizer.authorize("id", key, rule, null)).toMatchObject({ verdict: "ok" });
  });
});

const keyOf = (lookup: string) => ({ ...key, lookup });

describe("requests of many keys", () => {
  test("share queries, and one that is slow holds up no other key", async () => {
    const queries: string[][] = [];
    const slow = Promise.withResolvers<void>();
    const { authorizeAll } = createWindow(1_000);
    const authorizer = new Authorizer({
      async authorize(groups) {
        queries.push(groups.map(({ key: { lookup } }) => lookup));
        if (groups.some(({ key: { lookup } }) => lookup === "slow")) await slow.promise;
        else await Bun.sleep(1);
        return await authorizeAll(groups);
      },
    });
    const waiting = authorizer.authorize("slow", keyOf("slow"), rule, null);
    const ids = Array.from({ length: 100 }, (_, i) => `key ${i}`);
    const results = await Promise.all(
      ids.map((id) => authorizer.authorize(id, keyOf(id), rule, null)),
    );
    expect(results.every((result) => result?.verdict === "ok")).toBe(true);
    expect(queries.flat().toSorted()).toEqual(["slow", ...ids].toSorted());
    expect(queries.length).toBeLessThan(20);
    slow.resolve();
    expect(await waiting).toMatchObject({ verdict: "ok" });
  });
});
