import { describe, expect, test } from "bun:test";

import type { Call } from "../http/request-context.ts";
import { createAnonymousLimit, createUnknownKeyLimit } from "../limits/anonymous.ts";
import type { Access } from "./access-rules.ts";
import { createApiKeyAuth, createVerifiedKeys } from "./api-key-auth.ts";
import { generateKey } from "./api-key.ts";
import type { AuthorizationResult } from "./authorize.ts";
import { createRejectionCache } from "./rejection-cache.ts";

const RULE = { scope: null, limit: null, cost: 1 } as const;
const LIMIT_PER_MINUTE = 60;

const GRANTED: AuthorizationResult = {
  verdict: "ok",
  principal: { callerId: "k", accountId: "a", mode: "live", scopes: [], plan: "free" },
  now: 0,
  suspendedUntil: null,
  windows: [{ name: "minute", limit: 60, seconds: 60, used: 1, resetsAt: 60_000 }],
};

/** An authenticator in front of a database that has some keys and counts its queries. */
function createAuth() {
  const existing = new Set<string>();
  let queries = 0;
  const anonymousLimit = createAnonymousLimit();
  const authenticate = createApiKeyAuth({
    authorize: async (id) => {
      queries++;
      return existing.has(id) ? GRANTED : undefined;
    },
    anonymousLimit,
    unknownKeyLimit: createUnknownKeyLimit(),
    verifiedKeys: createVerifiedKeys(),
    rejections: createRejectionCache(),
  });
  /** Returns `ok`, or the error code; like the error plugin, consumes from the address when nobody was identified. */
  async function call(address: string, key?: string, access: Access = RULE): Promise<string> {
    const context: Call = { address, windows: [] };
    const headers: Record<string, string | number> = {};
    const authorization = key === undefined ? {} : { authorization: `Bearer ${key}` };
    const request = new Request("http://localhost/v1/links", { headers: authorization });
    try {
      await authenticate({ call: context, request, headers }, access);
      expect(headers["x-ratelimit-limit"]).toBeDefined();
      return "ok";
    } catch (error) {
      const { reason } = error as { reason: string };
      if (headers["x-ratelimit-limit"] !== undefined) return reason;
      return anonymousLimit.consume(address).granted ? reason : "rate_limited";
    }
  }
  const newKey = () => {
    const key = generateKey("live");
    existing.add(key.lookup + key.secretHash.toString("base64"));
    return key.key;
  };
  return { call, newKey, queries: () => queries };
}

const unknownKey = (): string => generateKey("live").key;

async function repeat(times: number, request: (i: number) => Promise<string>): Promise<string[]> {
  const outcomes: string[] = [];
  for (let i = 0; i < times; i++) outcomes.push(await request(i));
  return outcomes;
}

describe("a valid key", () => {
  test("is accepted whatever its address sent without a key", async () => {
    const { call, newKey } = createAuth();
    const rejections = await repeat(200, () => call("203.0.113.1"));
    expect(rejections.filter((outcome) => outcome === "rate_limited")).toHaveLength(
      200 - LIMIT_PER_MINUTE,
    );
    // Also a key that this process has not seen before.
    expect(await call("203.0.113.1", newKey())).toBe("ok");
  });

  test("is accepted whatever keys its address guessed, once it was verified", async () => {
    const { call, newKey } = createAuth();
    const key = newKey();
    expect(await call("203.0.113.1", key)).toBe("ok");
    await repeat(200, () => call("203.0.113.1", unknownKey()));
    expect(await call("203.0.113.1", key)).toBe("ok");
  });
});

describe("guessed keys", () => {
  test("cost no query beyond the limit of their address, and are rate-limited", async () => {
    const { call, newKey, queries } = createAuth();
    await repeat(200, () => call("203.0.113.1", unknownKey()));
    expect(queries()).toBe(LIMIT_PER_MINUTE);
    // A key that was never verified may be a guess like the others.
    expect(await call("203.0.113.1", newKey())).toBe("rate_limited");
    expect(await call("203.0.113.2", newKey())).toBe("ok");
  });

  test("with a wrong checksum cost no query, and block nobody", async () => {
    const { call, newKey, queries } = createAuth();
    await repeat(200, () => call("203.0.113.1", `${unknownKey().slice(0, -1)}!`));
    expect(queries()).toBe(0);
    expect(await call("203.0.113.1", newKey())).toBe("ok");
  });

  test("count together for one IPv6 network, and in the long run for a site", async () => {
    const { call, queries } = createAuth();
    await repeat(200, (i) => call(`2001:4860:1:1::${i.toString(16)}`, unknownKey()));
    expect(queries()).toBe(LIMIT_PER_MINUTE);
    await repeat(1_000, (i) => call(`2001:4860:1:${(i + 2).toString(16)}::1`, unknownKey()));
    expect(queries()).toBe(10 * LIMIT_PER_MINUTE);
    await call("2001:4860:2::1", unknownKey());
    expect(queries()).toBe(10 * LIMIT_PER_MINUTE + 1);
  });
});

test("a static route consumes nothing and is never rejected", async () => {
  const { call } = createAuth();
  const outcomes = await repeat(200, () => call("203.0.113.1", undefined, "static"));
  expect(new Set(outcomes)).toEqual(new Set(["ok"]));
  expect(await call("203.0.113.1")).toBe("unauthorized");
});
