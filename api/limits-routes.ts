/** `GET /v1/limits`: the state of the caller's rate-limit windows and quotas. Consumes nothing. */
import { Elysia } from "elysia";
import * as z from "zod";

import { CoalescedCalls } from "../shared/coalesced-calls.ts";
import { component } from "../shared/contracts/components.ts";
import { HOUR_MS } from "../shared/durations.ts";
import { choice, count, countOrNull, items, text } from "./http/common-schemas.ts";
import type { AccountScope } from "./http/principal.ts";
import { principalOf } from "./http/request-context.ts";
import { budgets, type BudgetState } from "./limits/budgets.ts";
import { QUOTAS, type QuotaState } from "./limits/quotas.ts";
import { type LimitWindow, remaining } from "./limits/windows.ts";
import type { AccessPlugin } from "./site.ts";
import type { Stores } from "./stores.ts";

const rateLimit = component("RateLimit", "A window of a rate limit.", {
  name: text("`minute`, `day`, `burst`, or the endpoint with a limit of its own.", "minute"),
  limit: count("The maximum number of requests in the window.", 300),
  remaining: count("Requests left in the window.", 288),
  window: count("The window's length in seconds.", 60),
  reset: count("When the window closes, in Unix seconds.", 1_782_907_260),
});

const quota = component("Quota", "A maximum of what an account creates or holds.", {
  name: choice("What is counted. More may be added.", QUOTAS, "links_per_day"),
  kind: choice("`window`: created within a window; `total`: existing at once.", [
    "window",
    "total",
  ]),
  limit: count("The maximum number.", 5000),
  remaining: count("What is left of it.", 4711),
  window: countOrNull("The window's length in seconds.", 86_400),
  reset: countOrNull("When the window closes, in Unix seconds.", 1_782_950_400),
});

const budget = component(
  "Budget",
  "How much work an account may cause, of which one call can cause as much as thousands of others.",
  {
    name: text("What is bounded, as an error beyond it names it. More may be added.", "statistics"),
    unit: text("What is counted.", "milliseconds of ClickHouse"),
    limit: z.number().meta({
      description: "How much an account that has been quiet may take at once.",
      examples: [100_000],
    }),
    remaining: z.number().meta({
      description: "What is left; a call begins while something is, and may take more.",
      examples: [98_420],
    }),
    per_hour: z.number().meta({ description: "How much of it comes back.", examples: [360_000] }),
    reset: count("When all of it is back, in Unix seconds.", 1_782_907_260),
  },
);

const limitsResponse = component("Limits", "The state of all rate limits, quotas and budgets.", {
  plan: text("The account's plan.", "pro"),
  limits: items("The windows of the rate limits that have begun.", rateLimit),
  quotas: items("Shared by the API and the dashboard.", quota),
  budgets: items(
    "Shared by the API, the dashboard and both modes; as of the process that answers, each of which counts by itself.",
    budget,
  ),
});

export function limitRoutes(auth: AccessPlugin, stores: Stores) {
  const calls = new CoalescedCalls<AccountScope, [LimitWindow[], QuotaState[]]>(([owner]) =>
    Promise.all([stores.listWindows(owner), stores.listQuotas(owner)]),
  );
  return new Elysia({ name: "limits", prefix: "/v1/limits", tags: ["Limits"] }).use(auth).get(
    "",
    async ({ call }) => {
      const principal = principalOf(call);
      const { accountId, mode } = principal;
      const [windows, quotas] = await calls.run(principal, `${accountId} ${mode}`);
      return {
        plan: principal.plan,
        limits: windows.map((window) => ({
          name: window.name,
          limit: window.limit,
          remaining: remaining(window),
          window: window.seconds,
          reset: Math.ceil(window.resetsAt / 1_000),
        })),
        quotas: quotas.map(toQuotaResponse),
        budgets: budgets.list(principal).map(toBudgetResponse),
      };
    },
    {
      access: { scope: null, endpoint: null, cost: 0 },
      response: { 200: limitsResponse },
      detail: {
        operationId: "getLimits",
        summary: "Get the state of all limits",
        description: "Consumes nothing. A key may call it up to 50 times in 3 seconds.",
      },
    },
  );
}

const toBudgetResponse = ({ name, unit, atOnce, perSecond, left, fullAt }: BudgetState) => ({
  name,
  unit,
  limit: Math.round(atOnce),
  remaining: Math.max(0, Math.floor(left)),
  per_hour: Math.round((perSecond * HOUR_MS) / 1_000),
  reset: Math.ceil(fullAt / 1_000),
});

const toQuotaResponse = ({ name, limit, used, seconds, resetsAt }: QuotaState) => ({
  name,
  kind: seconds === null ? ("total" as const) : ("window" as const),
  limit,
  remaining: Math.max(0, limit - used),
  window: seconds,
  reset: resetsAt === null ? null : Math.ceil(resetsAt / 1_000),
});
