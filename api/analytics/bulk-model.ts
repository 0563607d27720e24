/** Schemas of a query about many links. */
import * as z from "zod";

import { PERIODS } from "../../shared/contracts/periods.ts";
import { filterParameters } from "./filter-parameters.ts";
import { completeFrom } from "./model.ts";

/** Maximum links of one bulk query. */
const LINKS_MAX = 100;

const METRICS = ["clicks", "unique_clicks", "top_countries"] as const;

/** The filters of a query as members of a JSON body. */
const bulkFilters = z.strictObject(filterParameters);

export const bulkBody = z.strictObject({
  link_ids: z
    .array(z.string())
    .min(1)
    .max(LINKS_MAX)
    .refine((ids) => new Set(ids).size === ids.length, "must not name a link twice"),
  period: z.enum(PERIODS).optional(),
  metrics: z
    .array(z.enum(METRICS))
    .min(1)
    .max(METRICS.length)
    .default([...METRICS]),
  filters: bulkFilters.optional(),
});

export type BulkBody = z.output<typeof bulkBody>;

export const bulkResponse = z.object({
  data: z.array(
    z.object({
      link_id: z.string(),
      clicks: z.int().optional(),
      unique_clicks: z.int().optional(),
      top_countries: z.array(z.string()).optional(),
    }),
  ),
  errors: z
    .array(z.object({ link_id: z.string(), code: z.string(), message: z.string() }))
    .optional(),
  ...completeFrom,
});

export type BulkResponse = z.output<typeof bulkResponse>;
