/** Schemas of a query about many links. */
import * as z from "zod";

import { LINK_ID } from "../../shared/contracts/examples.ts";
import { filterParameters } from "./filter-parameters.ts";
import { periodParameters } from "./period-parameters.ts";
import { clicks, completeFrom, linkId, uniqueClicks } from "./response-fields.ts";

/** Maximum links of one bulk query. */
const LINKS_MAX = 100;

const METRICS = ["clicks", "unique_clicks", "top_countries"] as const;

/** The filters of a query as members of a JSON body. */
const bulkFilters = z.strictObject(filterParameters);

export const bulkBody = z
  .strictObject({
    link_ids: z
      .array(z.string())
      .min(1)
      .max(LINKS_MAX)
      .refine((ids) => new Set(ids).size === ids.length, "must not name a link twice")
      .meta({ description: "Up to 100 links, without duplicates.", examples: [[LINK_ID]] }),
    ...periodParameters,
    metrics: z
      .array(z.enum(METRICS))
      .min(1)
      .max(METRICS.length)
      .default([...METRICS])
      .meta({ description: "The metrics to return; all of them when left out." }),
    filters: bulkFilters
      .optional()
      .meta({ description: "Filters, as in the query of other requests." }),
  })
  .meta({ id: "BulkAnalyticsQuery", description: "The links and metrics to return." });

export type BulkBody = z.output<typeof bulkBody>;

const linkCounts = z.object({
  link_id: linkId,
  clicks: clicks.optional(),
  unique_clicks: uniqueClicks.optional(),
  top_countries: z
    .array(z.string())
    .optional()
    .meta({
      description: "Up to five countries, most clicks first.",
      examples: [["DE", "US"]],
    }),
});

const linkError = z.object({
  link_id: linkId,
  code: z.string().meta({ description: "Why the link is not in `data`.", examples: ["not_found"] }),
  message: z
    .string()
    .meta({ description: "A sentence for people.", examples: ["The link does not exist."] }),
});

export const bulkResponse = z
  .object({
    data: z.array(linkCounts).meta({ description: "One entry for each link that exists." }),
    errors: z
      .array(linkError)
      .optional()
      .meta({ description: "The links that do not exist; absent when all do." }),
    ...completeFrom,
  })
  .meta({ id: "BulkAnalytics", description: "Metrics of several links." });

export type BulkResponse = z.output<typeof bulkResponse>;
