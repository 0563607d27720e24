/** Schemas of the questions of analytics, and who may ask them. */
import * as z from "zod";

import { COLUMN_FILTERS } from "../../shared/contracts/analytics.ts";
import { strictComponent } from "../../shared/contracts/components.ts";
import { LINK_ID } from "../../shared/contracts/examples.ts";
import { choice, wholeNumber } from "../http/common-schemas.ts";
import { cursorParameter } from "../http/pagination.ts";
import { filterParameters, LINK_PROPERTIES } from "./filters.ts";
import { COMPARISONS, periodParameters } from "./period.ts";

/** The access rule of all queries except the bulk one. */
export const READ_ACCESS = {
  scope: "analytics:read",
  endpoint: "GET /v1/analytics/*",
  cost: 1,
  expensive: true,
} as const;

export const filtersQuery = z.object(filterParameters);

/** Period and filters, which all queries have. */
export const analyticsQuery = z.object({
  ...periodParameters,
  ...filterParameters,
});

export type ClicksRequest = z.output<typeof analyticsQuery>;

export const summaryQuery = analyticsQuery.extend({
  compare: choice(
    "Adds the counts of an earlier period: the one of equal length before (`previous`; for whole calendar months, the months before), or the one a year earlier (`year`). A period that is not over is compared up to the same local time of the earlier one.",
    COMPARISONS,
  ).optional(),
});

export type SummaryRequest = z.output<typeof summaryQuery>;

/** Maximum entries of one list. */
const RESULTS_MAX = 100;

const resultLimit = wholeNumber(1, RESULTS_MAX)
  .default(10)
  .meta({ description: "The maximum number of entries to return.", examples: [20] });

export const geoQuery = analyticsQuery.extend({
  group_by: z
    .enum(["country", "region", "city"])
    .default("country")
    .meta({ description: "Whether to group by country, region or city." }),
  limit: resultLimit,
});

export type GeoRequest = z.output<typeof geoQuery>;

export const accountQuery = summaryQuery.extend({ limit: resultLimit });

export type AccountRequest = z.output<typeof accountQuery>;

export const referrersQuery = analyticsQuery.extend({ limit: resultLimit });

export type ReferrersRequest = z.output<typeof referrersQuery>;

/** Maximum dimensions of one breakdown. */
const DIMENSIONS_MAX = 2;

/** Longer than any two dimension names together. */
const DIMENSIONS_LENGTH_MAX = 64;

const dimensions = <Name extends string>(names: readonly [Name, ...Name[]], description: string) =>
  z
    .string()
    .max(DIMENSIONS_LENGTH_MAX)
    // Before the transformation, because the input is documented.
    .meta({ description, examples: ["country,device"] })
    .transform((text) => text.split(","))
    .pipe(
      z
        .array(z.enum(names))
        .min(1)
        .max(DIMENSIONS_MAX)
        .refine((list) => new Set(list).size === list.length, "must not name a dimension twice"),
    );

const breakdownPage = {
  limit: resultLimit,
  starting_after: cursorParameter(),
};

export const breakdownQuery = analyticsQuery.extend({
  by: dimensions(COLUMN_FILTERS, "One dimension, or two separated by a comma."),
  ...breakdownPage,
});

export const accountBreakdownQuery = analyticsQuery.extend({
  by: dimensions(
    [...COLUMN_FILTERS, "link", ...LINK_PROPERTIES],
    "One dimension, or two separated by a comma. `tag` and `domain`, those that the links have now, stand alone.",
  ),
  ...breakdownPage,
});

export type BreakdownRequest = z.output<typeof accountBreakdownQuery>;

/** Maximum links of one bulk query. */
const LINKS_MAX = 100;

const METRICS = ["clicks", "unique_clicks", "top_countries"] as const;

/** The filters of a query as members of a JSON body. */
const bulkFilters = z.strictObject(filterParameters);

export const bulkBody = strictComponent("BulkAnalyticsQuery", "The links and metrics to return.", {
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
});

export type BulkBody = z.output<typeof bulkBody>;
