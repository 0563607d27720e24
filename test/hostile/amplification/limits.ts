/**
 * How often a key may call a route, by the limits of its plan in PostgreSQL and those that routes
 * have besides.
 */
import { type AccountBudgetName, boundsOf, WINDOWS } from "../../../shared/budgets.ts";
import { withPostgres } from "../../harness/admin.ts";
import type { SharedStack } from "../../harness/stack.ts";
import type { Route } from "../routes.ts";

export const PLANS = ["free", "pro", "business"] as const;

export type Plan = (typeof PLANS)[number];

/** Most of a core, in percent, that a free key may take of any process. */
export const FREE_PERCENT_MAX = 5;

export type PlanLimits = {
  /** Calls per minute and per second of each plan. */
  plans: Readonly<Record<Plan, { minute: number; second: number }>>;
  /** Calls that the windows of endpoints allow within a minute. */
  endpoints: ReadonlyMap<string, number>;
};

/** Readings of the limits consume nothing, and have a window of their own. */
const READINGS = WINDOWS.limits_readings;

export const readLimits = (stack: SharedStack): Promise<PlanLimits> =>
  withPostgres(stack, async (sql) => {
    const plans = await sql<{ name: string; per_second: number; per_minute: number }[]>`
      select name, per_second, per_minute from plans`;
    const endpoints = await sql<{ endpoint: string; allowed: number; seconds: number }[]>`
      select endpoint, allowed, seconds from endpoint_limits`;
    const limitsOf = (plan: Plan) => {
      const row = plans.find(({ name }) => name === plan);
      if (row === undefined) throw new Error(`There is no plan "${plan}".`);
      return { minute: row.per_minute, second: row.per_second };
    };
    return {
      plans: { free: limitsOf("free"), pro: limitsOf("pro"), business: limitsOf("business") },
      // A window of an hour may be spent within a minute.
      endpoints: new Map(
        endpoints.map(({ endpoint, allowed, seconds }) => [
          endpoint,
          allowed * Math.max(1, 60 / seconds),
        ]),
      ),
    };
  });

/** Calls of a route that a key of the plan can make within a minute. */
export function callsPerMinute(
  { plans, endpoints }: PlanLimits,
  plan: Plan,
  { method, path }: Pick<Route, "method" | "path">,
): number {
  if (path === "/v1/limits") return (READINGS.limit * 60) / READINGS.seconds;
  const { minute } = plans[plan];
  const name = `${method} ${path}`;
  const isAnalytics = method === "GET" && /^\/v1\/(?:analytics|clicks)/.test(path);
  return Math.min(minute, endpoints.get(isAnalytics ? "GET /v1/analytics/*" : name) ?? minute);
}

/** What a call takes of the budgets that an account has besides its limits. */
export type Work = {
  /** Links that it changes or deletes. */
  links?: number | undefined;
  /** Links that it creates in bulk. */
  rows?: number | undefined;
  /** Passwords that it sets. */
  passwords?: number | undefined;
  /** Links that its list reads. */
  listed?: number | undefined;
  /** Milliseconds of ClickHouse that it is charged. */
  statisticsMs?: number | undefined;
};

/** Calls that the budgets of an account allow within a minute. */
export function budgetedPerMinute(
  plan: Plan,
  { links = 0, rows = 0, passwords = 0, listed = 0, statisticsMs = 0 }: Work,
): number {
  const allowed = (name: AccountBudgetName, units: number): number =>
    units === 0 ? Infinity : (boundsOf(name, plan).perSecond * 60) / units;
  return Math.min(
    allowed("changed_links", links),
    allowed("bulk_rows", rows),
    allowed("link_passwords", passwords),
    allowed("listed_links", listed),
    allowed("statistics", statisticsMs),
  );
}
