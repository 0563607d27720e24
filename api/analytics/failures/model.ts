/** Schemas of the statistics of failed requests. */
import * as z from "zod";

import { FAILURE_REASONS, LINK_FAILURES } from "../../../shared/contracts/failure-reasons.ts";
import { DOMAIN_LENGTH_MAX } from "../../../shared/contracts/failures.ts";
import { accountQuery, analyticsQuery } from "../model.ts";

export const failuresQuery = analyticsQuery
  .pick({ period: true, start_date: true, end_date: true, timezone: true })
  .extend({
    link_id: z.string().optional().meta({
      description: "Only requests for this link; without unknown aliases.",
    }),
    domain: z.string().max(DOMAIN_LENGTH_MAX).optional().meta({
      description: "Only requests on this domain.",
    }),
    limit: accountQuery.shape.limit,
  });

export type FailuresQuery = z.output<typeof failuresQuery>;

const counts = <Reason extends string>(reasons: readonly Reason[]) =>
  ({
    total: z.int(),
    ...Object.fromEntries(reasons.map((reason) => [reason, z.int()])),
  }) as { total: z.ZodInt } & Record<Reason, z.ZodInt>; // fromEntries creates one per reason.

export const failuresResponse = z.object({
  period: z.string(),
  summary: z.object(counts(FAILURE_REASONS)).meta({ id: "FailureCounts" }),
  failures_over_time: z.array(
    z.object({ date: z.string(), ...counts(FAILURE_REASONS) }).meta({ id: "DatedFailureCounts" }),
  ),
  top_links: z.array(
    z.object({ link_id: z.string(), ...counts(LINK_FAILURES) }).meta({ id: "LinkFailureCounts" }),
  ),
  unknown_aliases: z.array(
    z
      .object({ domain: z.string(), alias: z.string(), requests: z.int() })
      .meta({ id: "UnknownAlias" }),
  ),
});

export type FailuresResponse = z.output<typeof failuresResponse>;
