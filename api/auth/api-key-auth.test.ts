import { afterEach, beforeEach, describe, expect, setSystemTime, test } from "bun:test";

import { newUuid, type Uuid } from "../../shared/ids.ts";
import { SYSTEM } from "../http/principal.ts";
import type { Call, ResponseHeaders } from "../http/request-context.ts";
import type { Access } from "./access-rules.ts";
import { ApiKeyAuthenticator } from "./api-key-auth.ts";
import { generateKey, type KeyParts, parseKey } from "./api-key.ts";
import { Authorizer } from "./authorizer.ts";
import type { BatchResult, Verdict } from "./sql.ts";

const RULE = { scope: null, endpoint: null, cost: 1 } as const;
const READING = { scope: null, endpoint: null, cost: 0 } as const;
/** A scope that no key has. */
const LACKED = { scope: "keys:write", endpoint: null, cost: 1 } as const;
const LIMIT_PER_MINUTE = 60;
/** Of an account: readings of its limits in 3 seconds, and refused requests in 10. */
const READINGS_MAX = 50;
const REFUSALS_MAX = 100;
/** Of one network: refused requests in a minute. */
const NETWORK_REFUSALS_MAX = 1_000;

const GRANTED: BatchResult = {
  verdict: "ok",
  granted: 1,
  principal: {
    callerId: "k",
    actor: SYSTEM,
    accountId: "a",
    mode: "live",
    scopes: [],
    plan: "free",
  },
  isReplaced: false,
  allowedNetworks: [],
  now: 0,
  throttledUntil: null,
  windows: [{ name: "minute", limit: 60, seconds: 60, spent: 1, resetsAt: 60_000 }],
};

const idOf = ({ lookup, secretHash }: KeyParts): string => lookup + secretHash.toString("base64");

/** An authenticator in front of a database that has some keys and counts its queries. */
function createAuth() {
  const existing = new Set<string>();
  const verdicts = new Map<string, Verdict>();
  const accounts = new Map<string, Uuid>();
  const networks = new Map<string, string[]>();
  let queries = 0;
  const authenticator = new ApiKeyAuthenticator(
    new Authorizer({
      authorize: async (groups) =>
        groups.map(({ key, rule: { scope } }) => {
          queries++;
          const id = idOf(key);
          const verdict = verdicts.get(id) ?? (scope === LACKED.scope ? "forbidden" : "ok");
          const principal = { ...GRANTED.principal, accountId: accounts.get(id) ?? "" };
          const allowedNetworks = networks.get(id) ?? [];
          return existing.has(id) ? { ...GRANTED, principal, verdict, allowedNetworks } : undefined;
        }),
    }),
  );
  /**
   * Returns `ok`, or the error code; like the error plugin, consumes from the address when nobody
   * was identified.
   */
  async function call(address: string, key?: string, access: Access = RULE): Promise<string> {
    const context: Call = { address, requestId: "" };
    const headers: ResponseHeaders = {};
    const authorization = key === undefined ? {} : { authorization: `Bearer ${key}` };
    const request = new Request("http://localhost/v1/links", { headers: authorization });
    try {
      await authenticator.authenticate({ call: context, request, headers }, access);
      expect(headers["x-ratelimit-limit"]).toBeDefined();
      return "ok";
    } catch (error) {
      const { reason } = error as { reason: string };
      if (headers["x-ratelimit-limit"] !== undefined) return reason;
      return authenticator.anonymous.consume(address).granted ? reason : "rate_limited";
    }
  }
  /** A key of an account, by default of one of its own. */
  const newKey = (verdict?: Verdict, account = newUuid()) => {
    const key = generateKey("live");
    existing.add(idOf(key));
    accounts.set(idOf(key), account);
    if (verdict !== undefined) verdicts.set(idOf(key), verdict);
    return key.key;
  };
  /** A key that works only in one network. */
  const newKeyIn = (network: string) => {
    const key = newKey();
    const parts = parseKey(key);
    if (parts !== undefined) networks.set(idOf(parts), [network]);
    return key;
  };
  function revoke(key: string): void {
    const parts = parseKey(key);
    if (parts !== undefined) verdicts.set(idOf(parts), "revoked");
  }
  return { call, newKey, newKeyIn, revoke, queries: () => queries };
}

const unknownKey = (): string => generateKey("live").key;

/** A well-formed key with the public part of another one. */
function withOtherSecret(key: string): string {
  const secretAt = "sk_live_".length + 12;
  const body = key.slice(0, secretAt) + unknownKey().slice(secretAt, -6);
  const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  let checksum = "";
  for (let rest = Bun.hash.crc32(body); checksum.length < 6; rest = Math.floor(rest / 62)) {
    checksum = digits.charAt(rest % 62) + checksum;
  }
  return body + checksum;
}

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

describe("a key that works only in some networks", () => {
  test("costs who has it elsewhere one query, and their own network's limit alone", async () => {
    const { call, newKeyIn, queries } = createAuth();
    const key = newKeyIn("203.0.113.0/24");
    const outcomes = await repeat(NETWORK_REFUSALS_MAX + 10, () => call("198.51.100.1", key));
    expect(outcomes.filter((outcome) => outcome === "forbidden")).toHaveLength(
      NETWORK_REFUSALS_MAX,
    );
    expect(outcomes.at(-1)).toBe("rate_limited");
    expect(queries()).toBe(1);
    expect(await call("203.0.113.1", key)).toBe("ok");
    // Its use by the owner does not make it work elsewhere.
    expect(await call("198.51.100.2", key, READING)).toBe("forbidden");
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

describe("a key that consumes nothing costs few queries", () => {
  beforeEach(() => void setSystemTime(new Date("2026-01-01")));
  afterEach(() => void setSystemTime());

  test("while it reads its limits, and is as good as before for anything else", async () => {
    const { call, newKey, queries } = createAuth();
    const key = newKey();
    const outcomes = await repeat(200, () => call("203.0.113.1", key, READING));
    expect(outcomes.filter((outcome) => outcome === "ok")).toHaveLength(READINGS_MAX);
    expect(outcomes.at(-1)).toBe("rate_limited");
    expect(queries()).toBe(READINGS_MAX);
    expect(await call("203.0.113.1", key)).toBe("ok");
    expect(await call("203.0.113.1", newKey(), READING)).toBe("ok");
    setSystemTime(Date.now() + 3_000);
    expect(await call("203.0.113.1", key, READING)).toBe("ok");
  });

  test.each([
    ["revoked", "key_revoked"],
    ["expired", "unauthorized"],
    ["suspended", "forbidden"],
  ] as const)("when it is %s, and keeps nobody else out", async (verdict, code) => {
    const { call, newKey, queries } = createAuth();
    const key = newKey(verdict);
    const outcomes = await repeat(300, () => call("203.0.113.1", key));
    expect(new Set(outcomes.slice(0, REFUSALS_MAX))).toEqual(new Set([code]));
    expect(new Set(outcomes.slice(REFUSALS_MAX))).toEqual(new Set(["rate_limited"]));
    expect(queries()).toBe(REFUSALS_MAX);
    expect(await call("203.0.113.1", newKey())).toBe("ok");
    setSystemTime(Date.now() + 10_000);
    expect(await call("203.0.113.1", key)).toBe(code);
  });

  test("when it is one of many of its network that were revoked after they had worked", async () => {
    const { call, newKey, revoke, queries } = createAuth();
    const address = "203.0.113.1";
    const [working, ...keys] = Array.from({ length: 21 }, () => newKey());
    for (const key of [working, ...keys]) expect(await call(address, key)).toBe("ok");
    for (const key of keys) revoke(key);
    const before = queries();
    const outcomes: string[] = [];
    for (const key of keys)
      outcomes.push(...(await repeat(REFUSALS_MAX, () => call(address, key))));
    const refused = outcomes.filter((outcome) => outcome === "key_revoked");
    expect(refused.length).toBeGreaterThanOrEqual(NETWORK_REFUSALS_MAX);
    expect(queries() - before).toBe(refused.length);
    // The first request of each key finds that it was revoked.
    expect(refused.length).toBeLessThanOrEqual(NETWORK_REFUSALS_MAX + keys.length);
    expect(outcomes.at(-1)).toBe("rate_limited");
    expect(await call(address, working)).toBe("ok");
    expect(await call("203.0.113.2", newKey("revoked"))).toBe("key_revoked");
    setSystemTime(Date.now() + 60_000);
    expect(await call(address, keys[0])).toBe("key_revoked");
  });

  test("when it lacks a scope, and may use its other scopes", async () => {
    const { call, newKey, queries } = createAuth();
    const key = newKey();
    const outcomes = await repeat(300, () => call("203.0.113.1", key, LACKED));
    expect(outcomes[0]).toBe("forbidden");
    expect(outcomes.at(-1)).toBe("rate_limited");
    expect(queries()).toBe(REFUSALS_MAX);
    expect(await call("203.0.113.1", key)).toBe("ok");
  });

  test("when it is one of many of its account, of which some may do more", async () => {
    const { call, newKey, queries } = createAuth();
    const account = newUuid();
    const keys = Array.from({ length: 10 }, () => newKey(undefined, account));
    const readings: string[] = [];
    const refusals: string[] = [];
    for (const key of keys) {
      readings.push(...(await repeat(60, () => call("203.0.113.1", key, READING))));
      refusals.push(...(await repeat(60, () => call("203.0.113.1", key, LACKED))));
    }
    const granted = readings.filter((outcome) => outcome === "ok").length;
    const forbidden = refusals.filter((outcome) => outcome === "forbidden").length;
    // The first request of each key finds whose it is, and what it lacks.
    expect(granted).toBeLessThanOrEqual(READINGS_MAX + keys.length);
    expect(forbidden).toBeLessThanOrEqual(REFUSALS_MAX + keys.length);
    expect(queries()).toBe(granted + forbidden);
    for (const key of keys) expect(await call("203.0.113.1", key)).toBe("ok");
  });

  test("when its first readings of the limits come at once, before its account is known", async () => {
    const { call, newKey } = createAuth();
    const key = newKey();
    const read = (): Promise<string> => call("203.0.113.1", key, READING);
    const readings = [
      ...(await Promise.all(Array.from({ length: 60 }, read))),
      ...(await repeat(60, read)),
    ];
    expect(readings.filter((outcome) => outcome === "ok")).toHaveLength(READINGS_MAX);
  });

  test("and whoever else knows its public part keeps it from nothing", async () => {
    const { call, newKey } = createAuth();
    const key = newKey();
    const guess = withOtherSecret(key);
    expect(parseKey(guess)?.lookup).toBe(parseKey(key)?.lookup ?? "");
    const outcomes = await repeat(300, () => call("203.0.113.9", guess, READING));
    expect(outcomes).not.toContain("ok");
    expect(await call("203.0.113.1", key, READING)).toBe("ok");
  });
});

test("a static route consumes nothing and is never rejected", async () => {
  const { call } = createAuth();
  const outcomes = await repeat(200, () => call("203.0.113.1", undefined, "static"));
  expect(new Set(outcomes)).toEqual(new Set(["ok"]));
  expect(await call("203.0.113.1")).toBe("unauthorized");
});
