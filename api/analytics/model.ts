/** Schemas of analytics queries, and of clicks over time. */
import * as z from "zod";

import { cursorParameter } from "../http/cursor.ts";
import { COMPARISONS } from "./comparison.ts";
import { COLUMN_FILTERS } from "./filter-names.ts";
import { filterParameters } from "./filter-parameters.ts";
import { linkName } from "./link-names.ts";
import { LINK_PROPERTIES } from "./link-totals.ts";
import { periodParameters } from "./period-parameters.ts";
import {
  clicks,
  completeFrom,
  date,
  linkId,
  overTimeMeta,
  periodOfQuery,
  totalClicks,
  uniqueClicks,
} from "./response-fields.ts";

export const filtersQuery = z.object(filterParameters);

/** Period and filters, which all queries have. */
export const analyticsQuery = z.object({
  ...periodParameters,
  ...filterParameters,
});

export type AnalyticsQuery = z.output<typeof analyticsQuery>;

const clickTotals = z
  .object({
    total_clicks: totalClicks,
    unique_clicks: uniqueClicks,
    avg_daily_clicks: z.int().meta({
      description:
        "Clicks by people divided by the days of the period, rounded to a whole number; today counts as a whole day. 5 clicks in 30 days are 0: `clicks_per_day` is more precise.",
      examples: [183],
    }),
    clicks_per_day: z.number().meta({
      description:
        "Clicks by people per 24 hours of the period so far, with one decimal. Less than a day counts as one day.",
      examples: [201.6],
    }),
    bot_clicks: z.int().meta({
      description: "Clicks by crawlers and link previews; no other count includes them.",
      examples: [57],
    }),
    prefetch_clicks: z.int().meta({
      description:
        "Requests that a browser or Office made before a person opened the link; no other count includes them.",
      examples: [12],
    }),
  })
  .meta({ id: "ClickTotals", description: "Sums over a period." });

const clicksAtTime = z
  .object({
    date,
    clicks,
    unique: z
      .int()
      .meta({ description: "Distinct visitors of this day or hour.", examples: [187] }),
    unfinished: z.literal(true).optional().meta({
      description: "Present when this day or hour is not over yet: its counts still grow.",
    }),
  })
  .meta({ id: "ClicksAtTime", description: "The clicks of a day or an hour." });

export const rangeCounts = {
  summary: clickTotals.meta({ description: "The sums over the period." }),
  clicks_over_time: z.array(clicksAtTime).meta(overTimeMeta),
};

const change = (example: number) =>
  z
    .number()
    .nullable()
    .meta({
      description: "Change in percent since the compared period; null if that had none.",
      examples: [example],
    });

const span = {
  from: z.iso
    .datetime()
    .meta({ description: "The start.", examples: ["2026-02-22T00:00:00.000Z"] }),
  to: z.iso.datetime().meta({ description: "The end.", examples: ["2026-03-01T00:00:00.000Z"] }),
};

/** The same counts for an earlier period. */
const comparison = z.object({
  ...span,
  current: z.object(span).meta({
    description: "The part of the queried period that is compared: what has passed of it so far.",
  }),
  ...rangeCounts,
  change: z
    .object({ total_clicks: change(12.5), unique_clicks: change(-3.2) })
    .meta({ description: "The change since the compared period." }),
  ...completeFrom,
});

const timeSeries = {
  period: periodOfQuery,
  ...rangeCounts,
  ...completeFrom,
  comparison: comparison.optional().meta({
    description:
      "The same counts for an earlier period, from `from` to `to`; only with `compare`. While the queried period is not over, the earlier one ends at the corresponding time.",
  }),
};

const compare = {
  compare: z.enum(COMPARISONS).optional().meta({
    description:
      "Adds the counts of an earlier period: the one of equal length before (`previous`; for whole calendar months, the months before), or the one a year earlier (`year`). A period that is not over is compared up to the same local time of the earlier one.",
  }),
};

export const summaryQuery = analyticsQuery.extend(compare);

export type SummaryQuery = z.output<typeof summaryQuery>;

export const summaryResponse = z
  .object({ link_id: linkId, ...timeSeries })
  .meta({ id: "LinkSummary", description: "The clicks of a link over time." });

/** Without the id of the link. */
export type Summary = Omit<z.output<typeof summaryResponse>, "link_id">;

/** Maximum entries of one list. */
const RESULTS_MAX = 100;

const resultLimit = z.coerce
  .number()
  .int()
  .min(1)
  .max(RESULTS_MAX)
  .default(10)
  .meta({ description: "The maximum number of entries to return.", examples: [20] });

export const geoQuery = analyticsQuery.extend({
  group_by: z
    .enum(["country", "region", "city"])
    .default("country")
    .meta({ description: "Whether to group by country, region or city." }),
  limit: resultLimit,
});

export const accountQuery = summaryQuery.extend({ limit: resultLimit });

export type AccountQuery = z.output<typeof accountQuery>;

const topLink = z
  .object({ link_id: linkId, ...linkName.shape, clicks })
  .meta({ id: "TopLink", description: "A link with its clicks in the period." });

export const accountResponse = z
  .object({
    ...timeSeries,
    top_links: z.array(topLink).meta({
      description: "The links with the most clicks in the period, including deleted ones.",
    }),
  })
  .meta({ id: "AccountSummary", description: "The clicks of all links over time." });

export type AccountSummary = z.output<typeof accountResponse>;

export type GeoQuery = z.output<typeof geoQuery>;

export const referrersQuery = analyticsQuery.extend({ limit: resultLimit });

export type ReferrersQuery = z.output<typeof referrersQuery>;

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

export type BreakdownQuery = z.output<typeof breakdownQuery>;

export const accountBreakdownQuery = analyticsQuery.extend({
  by: dimensions(
    [...COLUMN_FILTERS, "link", ...LINK_PROPERTIES],
    "One dimension, or two separated by a comma. `tag` and `domain`, those that the links have now, stand alone.",
  ),
  ...breakdownPage,
});

export type AccountBreakdownQuery = z.output<typeof accountBreakdownQuery>;
