/** Schemas of the statistics of failed requests. */
import * as z from "zod";

import type { FAILURE_REASONS, LinkFailure } from "../../../shared/contracts/analytics.ts";
import { CUSTOM_DOMAIN, LINK_ID } from "../../../shared/contracts/examples.ts";
import { DOMAIN_LENGTH_MAX } from "../../../shared/contracts/failures.ts";
import { count, idParameter, text } from "../../http/common-schemas.ts";
import { accountQuery } from "../model.ts";
import { periodParameters } from "../period.ts";
import { date, linkId, overTimeMeta, periodOfQuery } from "../responses.ts";

export const failuresQuery = z.object(periodParameters).extend({
  link_id: idParameter(
    "link",
    "Only requests for this link; without unknown aliases.",
    LINK_ID,
  ).optional(),
  domain: z
    .string()
    .max(DOMAIN_LENGTH_MAX)
    .optional()
    .meta({ description: "Only requests on this domain.", examples: [CUSTOM_DOMAIN] }),
  limit: accountQuery.shape.limit,
});

export type FailuresQuery = z.output<typeof failuresQuery>;

const total = count("Failed requests for all reasons.", 31);

const linkFailures = {
  expired: count("Requests for links that had expired.", 9),
  limit_reached: count("Requests for links whose click limit was reached.", 5),
  wrong_password: count("Wrong passwords.", 3),
  disabled: count("Requests for disabled links.", 1),
  not_started: count("Requests for links before their start.", 1),
} satisfies Record<LinkFailure, z.ZodInt>;

const counts = {
  total,
  unknown_alias: count(
    "Requests for aliases without a link on verified domains of the account.",
    12,
  ),
  ...linkFailures,
} satisfies Record<"total" | (typeof FAILURE_REASONS)[number], z.ZodInt>;

const unknownAlias = z
  .object({
    domain: text("The domain.", CUSTOM_DOMAIN),
    alias: text("The requested alias.", "spring-sael"),
    requests: count("How often it was requested.", 7),
  })
  .meta({
    id: "UnknownAlias",
    description: "An alias that was requested and that no link has.",
  });

export const failuresResponse = z
  .object({
    period: periodOfQuery,
    summary: z
      .object(counts)
      .meta({ id: "FailureCounts", description: "Failed requests by reason." })
      .meta({ description: "The sums over the period." }),
    failures_over_time: z
      .array(
        z.object({ date, ...counts }).meta({
          id: "DatedFailureCounts",
          description: "The failed requests of a day or an hour, by reason.",
        }),
      )
      .meta(overTimeMeta),
    top_links: z
      .array(
        z.object({ link_id: linkId, total, ...linkFailures }).meta({
          id: "LinkFailureCounts",
          description: "The failed requests for a link, by reason.",
        }),
      )
      .meta({
        description:
          "The links with the most failed requests in the period, including deleted ones.",
      }),
    unknown_aliases: z.array(unknownAlias).meta({
      description:
        "The unknown aliases that were requested most often. Each redirector counts up to 100 aliases of a domain by name, so in a flood of made-up aliases `summary` exceeds their sum. They are kept for 90 days at most.",
    }),
  })
  .meta({ id: "Failures", description: "Failed requests over time." });

export type FailuresResponse = z.output<typeof failuresResponse>;
