/** `GET /v1/limits`: every window of the caller with its state. Spends nothing. */
import { Elysia } from "elysia";
import * as z from "zod";

import { windowsOfAccount } from "../auth/authorize.ts";
import { type AuthPlugin, principalOf } from "../auth/plugin.ts";
import type { Sql } from "../postgres.ts";
import { remaining } from "./windows.ts";

const limitsAnswer = z.object({
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
});

export const limitRoutes = ({ auth, sql }: { auth: AuthPlugin; sql: Sql }) =>
  new Elysia({ name: "limits", prefix: "/v1/limits", tags: ["Limits"] }).use(auth).get(
    "",
    async ({ call }) => {
      const principal = principalOf(call);
      const windows = await windowsOfAccount(sql, principal);
      return {
        plan: principal.plan,
        limits: windows.map((window) => ({
          name: window.name,
          limit: window.allowed,
          remaining: remaining(window),
          window: window.seconds,
          reset: Math.ceil(window.resetsAt / 1_000),
        })),
      };
    },
    {
      access: { scope: null, limit: null, cost: 0 },
      response: { 200: limitsAnswer },
      detail: {
        operationId: "getLimits",
        summary: "Get the state of all limits",
        description: "Spends nothing.",
      },
    },
  );
