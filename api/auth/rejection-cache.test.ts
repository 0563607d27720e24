import { beforeEach, describe, expect, test } from "bun:test";

import { SYSTEM } from "../http/principal.ts";
import type { AccessRule } from "./access-rules.ts";
import type { AuthorizationResult } from "./authorize.ts";
import { createRejectionCache, type RejectionCache } from "./rejection-cache.ts";

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
  windows: [{ name, limit: 1, seconds: 60, used: 1, resetsAt: now + AHEAD_MS + resetsInMs }],
});

let time: number;
let rejections: RejectionCache;
beforeEach(() => {
  time = 1_000_000;
  rejections = createRejectionCache(() => time);
});

describe("a cached rejection", () => {
  test("lasts at most a second, so that a revoked key or a new plan is soon noticed", () => {
    rejections.record("key", read, limited("day", 3_600_000, time));
    time += 999;
    expect(rejections.get("key", read)).toMatchObject({ verdict: "limited", now: time + AHEAD_MS });
    time += 1;
    expect(rejections.get("key", read)).toBeUndefined();
  });

  test("ends with the window", () => {
    rejections.record("key", read, limited("burst", 200, time));
    time += 200;
    expect(rejections.get("key", read)).toBeUndefined();
  });

  test("applies to the whole key when the plan rejects, and only to the endpoint when the endpoint does", () => {
    rejections.record("plan", links, limited("minute", 10_000, time));
    rejections.record("endpoint", links, limited("POST /v1/links", 10_000, time));
    expect(rejections.get("plan", read)).toBeDefined();
    expect(rejections.get("endpoint", links)).toBeDefined();
    expect(rejections.get("endpoint", read)).toBeUndefined();
    expect(rejections.get("other", read)).toBeUndefined();
  });

  test("never hides a missing scope, and never prevents reading the limits", () => {
    rejections.record("key", read, limited("minute", 10_000, time));
    expect(rejections.get("key", { scope: "domains:read", limit: null, cost: 1 })).toBeUndefined();
    expect(rejections.get("key", look)).toBeUndefined();
  });

  test("is counted, and the count is drained once", () => {
    rejections.record("key", read, limited("minute", 10_000, time));
    for (let i = 0; i < 3; i++) rejections.get("key", read);
    expect(rejections.drain("key")).toBe(3);
    expect(rejections.drain("key")).toBe(0);
  });

  test("is never made of other verdicts", () => {
    rejections.record("key", read, { ...limited("minute", 10_000, time), verdict: "revoked" });
    expect(rejections.get("key", read)).toBeUndefined();
  });
});
