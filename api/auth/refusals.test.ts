import { beforeEach, describe, expect, test } from "bun:test";

import { SYSTEM } from "../http/principal.ts";
import type { AccessRule } from "./access-rules.ts";
import { Refusals } from "./authorizer.ts";
import type { AuthorizationResult } from "./sql.ts";

const links: AccessRule = { scope: "links:write", limit: "POST /v1/links", cost: 1 };
const read: AccessRule = { scope: "links:read", limit: null, cost: 1 };
const look: AccessRule = { scope: null, limit: null, cost: 0 };

/** The database's clock is this far ahead of the process's. */
const AHEAD_MS = 5_000;

const limited = (name: string, resetsInMs: number, now: number): AuthorizationResult => ({
  verdict: "limited",
  principal: {
    callerId: "k",
    actor: SYSTEM,
    accountId: "a",
    mode: "live",
    scopes: ["links:write", "links:read"],
    plan: "free",
  },
  now: now + AHEAD_MS,
  suspendedUntil: null,
  allowedNetworks: [],
  windows: [{ name, limit: 1, seconds: 60, spent: 1, resetsAt: now + AHEAD_MS + resetsInMs }],
});

let time: number;
let refusals: Refusals;
beforeEach(() => {
  time = 1_000_000;
  refusals = new Refusals(() => time);
});

describe("a refusal", () => {
  test("lasts at most a second, so that a revoked key or a new plan is soon noticed", () => {
    refusals.record("key", read, limited("day", 3_600_000, time));
    time += 999;
    expect(refusals.get("key", read)).toMatchObject({ verdict: "limited", now: time + AHEAD_MS });
    time += 1;
    expect(refusals.get("key", read)).toBeUndefined();
  });

  test("ends with the window", () => {
    refusals.record("key", read, limited("burst", 200, time));
    time += 200;
    expect(refusals.get("key", read)).toBeUndefined();
  });

  test("applies to the whole key when the plan rejects, and only to the endpoint when the endpoint does", () => {
    refusals.record("plan", links, limited("minute", 10_000, time));
    refusals.record("endpoint", links, limited("POST /v1/links", 10_000, time));
    expect(refusals.get("plan", read)).toBeDefined();
    expect(refusals.get("endpoint", links)).toBeDefined();
    expect(refusals.get("endpoint", read)).toBeUndefined();
    expect(refusals.get("other", read)).toBeUndefined();
  });

  test("never hides a missing scope, and never prevents reading the limits", () => {
    refusals.record("key", read, limited("minute", 10_000, time));
    expect(refusals.get("key", { scope: "domains:read", limit: null, cost: 1 })).toBeUndefined();
    expect(refusals.get("key", look)).toBeUndefined();
  });

  test("is counted, and the count is drained once", () => {
    refusals.record("key", read, limited("minute", 10_000, time));
    for (let i = 0; i < 3; i++) refusals.get("key", read);
    expect(refusals.drain("key")).toBe(3);
    expect(refusals.drain("key")).toBe(0);
  });

  test("is never made of other verdicts", () => {
    refusals.record("key", read, { ...limited("minute", 10_000, time), verdict: "revoked" });
    expect(refusals.get("key", read)).toBeUndefined();
  });
});
