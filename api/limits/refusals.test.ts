import { beforeEach, describe, expect, test } from "bun:test";

import type { AccessRule, KnownVerdict } from "../auth/authorize.ts";
import { createRefusals, type Refusals } from "./refusals.ts";

const links: AccessRule = { scope: "links:write", limit: "POST /v1/links", cost: 1 };
const read: AccessRule = { scope: "links:read", limit: null, cost: 1 };
const look: AccessRule = { scope: null, limit: null, cost: 0 };

/** The database's clock is this far ahead of the process's. */
const AHEAD_MS = 5_000;

const limited = (name: string, resetsInMs: number, now: number): KnownVerdict => ({
  verdict: "limited",
  principal: {
    callerId: "k",
    accountId: "a",
    mode: "live",
    scopes: ["links:write", "links:read"],
    plan: "free",
  },
  now: now + AHEAD_MS,
  suspendedUntil: null,
  windows: [{ name, allowed: 1, seconds: 60, spent: 1, resetsAt: now + AHEAD_MS + resetsInMs }],
});

let time: number;
let refusals: Refusals;
beforeEach(() => {
  time = 1_000_000;
  refusals = createRefusals(() => time);
});

describe("repeating refusals", () => {
  test("lasts a second at most, so that a revoked key or a new plan is soon noticed", () => {
    refusals.note("key", read, limited("day", 3_600_000, time));
    time += 999;
    expect(refusals.find("key", read)).toMatchObject({ verdict: "limited", now: time + AHEAD_MS });
    time += 1;
    expect(refusals.find("key", read)).toBeUndefined();
  });

  test("ends with the window", () => {
    refusals.note("key", read, limited("burst", 200, time));
    time += 200;
    expect(refusals.find("key", read)).toBeUndefined();
  });

  test("is for the whole key when the plan refuses, for the endpoint alone when the endpoint does", () => {
    refusals.note("plan", links, limited("minute", 10_000, time));
    refusals.note("endpoint", links, limited("POST /v1/links", 10_000, time));
    expect(refusals.find("plan", read)).toBeDefined();
    expect(refusals.find("endpoint", links)).toBeDefined();
    expect(refusals.find("endpoint", read)).toBeUndefined();
    expect(refusals.find("other", read)).toBeUndefined();
  });

  test("never hides a missing scope, nor keeps anyone from looking at the limits", () => {
    refusals.note("key", read, limited("minute", 10_000, time));
    expect(refusals.find("key", { scope: "domains:read", limit: null, cost: 1 })).toBeUndefined();
    expect(refusals.find("key", look)).toBeUndefined();
  });

  test("counts what it repeated, once", () => {
    refusals.note("key", read, limited("minute", 10_000, time));
    for (let i = 0; i < 3; i++) refusals.find("key", read);
    expect(refusals.take("key")).toBe(3);
    expect(refusals.take("key")).toBe(0);
  });

  test("is not done for answers that are no refusals", () => {
    refusals.note("key", read, { ...limited("minute", 10_000, time), verdict: "revoked" });
    expect(refusals.find("key", read)).toBeUndefined();
  });
});
