/** Goal: what a key can cause is computed from the limits that it really has. */
import { expect, test } from "bun:test";

import { budgetedPerMinute, callsPerMinute, type PlanLimits } from "./limits.ts";

const LIMITS: PlanLimits = {
  plans: {
    free: { minute: 60, second: 10 },
    pro: { minute: 300, second: 50 },
    business: { minute: 1_000, second: 100 },
  },
  endpoints: new Map([
    ["POST /v1/links", 100],
    ["POST /v1/analytics/bulk", 10],
    ["GET /v1/analytics/*", 120],
  ]),
};

test.each([
  ["free", "GET", "/v1/links", 60],
  ["pro", "GET", "/v1/links", 300],
  ["free", "POST", "/v1/links", 60],
  ["pro", "POST", "/v1/links", 100],
  ["pro", "POST", "/v1/links/bulk", 300],
  ["free", "POST", "/v1/analytics/bulk", 10],
  ["business", "GET", "/v1/analytics/:link_id/geo", 120],
  ["business", "POST", "/v1/links/:id/explain", 1_000],
  ["business", "GET", "/v1/clicks/export", 120],
  ["free", "GET", "/v1/limits", 1_000],
] as const)("a key on %s may make %s %s %d times a minute", (plan, method, path, calls) => {
  expect(callsPerMinute(LIMITS, plan, { method, path })).toBe(calls);
});

test("the budgets of an account allow fewer calls the more work each is", () => {
  expect(budgetedPerMinute("free", {})).toBe(Infinity);
  expect(budgetedPerMinute("free", { passwords: 1 })).toBe(45);
  expect(budgetedPerMinute("free", { passwords: 10 })).toBe(4.5);
  expect(budgetedPerMinute("pro", { rows: 100 })).toBeCloseTo(1 / 3);
  expect(budgetedPerMinute("pro", { passwords: 10, links: 10_000 })).toBe(1.8);
  expect(budgetedPerMinute("free", { statisticsMs: 600 })).toBe(2);
});
