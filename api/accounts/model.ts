/** Accounts, their plans, and the limits set for a single account. */
import * as z from "zod";

import { type Plan, PLANS } from "../../shared/budgets.ts";
import type { Uuid } from "../../shared/ids.ts";
import { QUOTAS } from "../limits/quotas.ts";
import type { EndpointLimit } from "../limits/quotas.ts";

export { type Plan, PLANS };

const limit = z.int().positive().max(1_000_000_000);

/**
 * Limits of one account; the plan's limits apply where one is absent. Every plan allows quotas per
 * account. Only the enterprise plan allows the other limits.
 */
export const accountLimits = z.strictObject({
  minute: limit.optional(),
  day: limit.optional(),
  burst: limit.optional(),
  endpoints: z
    .strictObject({
      "POST /v1/links": limit.optional(),
      "POST /v1/analytics/bulk": limit.optional(),
      "GET /v1/analytics/*": limit.optional(),
      "POST /v1/domains": limit.optional(),
    } satisfies Record<EndpointLimit, z.ZodType>)
    .optional(),
  quotas: z.partialRecord(z.enum(QUOTAS), limit).optional(),
});

export type AccountLimits = z.output<typeof accountLimits>;

export type AccountRow = {
  id: Uuid;
  name: string;
  plan: Plan;
  limits: AccountLimits;
  suspended: string | null;
  created_at: Date;
};
