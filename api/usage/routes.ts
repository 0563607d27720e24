/** `GET /v1/limits`: the state of the caller's rate-limit windows and quotas. Consumes nothing. */
import { Elysia } from "elysia";
import * as z from "zod";

import type { AuthPlugin } from "../auth/plugin.ts";
import { createCoalescedReads } from "../coalesced-reads.ts";
import { type LimitWindow, remaining } from "../http/rate-limit.ts";
import { principalOf } from "../http/request-context.ts";
import { QUOTAS, type QuotaState } from "../limits/quotas.ts";
import type { AppStores } from "../stores.ts";

const limitsResponse = z.object({
  plan: z.string(),
  limits: z.array(
    z.object({
      name: z.string(),
      limit: z.int(),
      remaining: z.int(),
      window: z.int(),
      reset: z.int(),
    }),
  ),
  quotas: z
    .array(
      z.object({
        name: z.enum(QUOTAS),
        kind: z.enum(["window", "total"]).meta({
          description: "`window`: created within a window; `total`: existing at once.",
        }),
        limit: z.int(),
        remaining: z.int(),
        window: z.int().nullable().meta({ description: "The window's length in seconds." }),
        reset: z.int().nullable().meta({ description: "When the window closes, in Unix seconds." }),
      }),
    )
    .meta({ description: "Shared by the API and the dashboard." }),
});

type LimitRoutesDeps = { auth: AuthPlugin } & Pick<AppStores, "listWindows" | "listQuotas">;

export function limitRoutes({ auth, listWindows, listQuotas }: LimitRoutesDeps) {
  const coalesce = createCoalescedReads<[LimitWindow[], QuotaState[]]>();
  return new Elysia({ name: "limits", prefix: "/v1/limits", tags: ["Limits"] }).use(auth).get(
    "",
    async ({ call }) => {
      const principal = principalOf(call);
      const [windows, quotas] = await coalesce(`${principal.accountId} ${principal.mode}`, () =>
        Promise.all([listWindows(principal), listQuotas(principal)]),
      );
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
      };
    },
    {
      access: { scope: null, limit: null, cost: 0 },
      response: { 200: limitsResponse },
      detail: {
        operationId: "getLimits",
        summary: "Get the state of all limits",
        description: "Consumes nothing. A key may ask up to 50 times a second.",
      },
    },
  );
}

const toQuotaResponse = ({ name, limit, used, seconds, resetsAt }: QuotaState) => ({
  name,
  kind: seconds === null ? ("total" as const) : ("window" as const),
  limit,
  remaining: Math.max(0, limit - used),
  window: seconds,
  reset: resetsAt === null ? null : Math.ceil(resetsAt / 1_000),
});
