/** Schemas of analytics queries and responses. */
import * as z from "zod";

import { CURSOR_LENGTH_MAX } from "../http/cursor.ts";
import { COMPARISONS } from "./comparison.ts";
import { COLUMN_FILTERS } from "./filter-names.ts";
import { filterParameters } from "./filter-parameters.ts";
import { linkName } from "./link-names.ts";
import { LINK_PROPERTIES } from "./link-totals.ts";
import { periodParameters } from "./period-parameters.ts";

export const filtersQuery = z.object(filterParameters);

/** Period and filters, which all queries have. */
export const analyticsQuery = z.object({
  ...periodParameters,
  ...filterParameters,
});

export type AnalyticsQuery = z.output<typeof analyticsQuery>;

export const completeFrom = {
  complete_from: z.iso.datetime().optional().meta({
    description:
      "Present when filters need single clicks that have been deleted: clicks before are not counted.",
  }),
};

export const rangeCounts = {
  summary: z.object({
    total_clicks: z.int(),
    unique_clicks: z.int(),
    avg_daily_clicks: z.int(),
    clicks_per_day: z.number(),
    bot_clicks: z.int(),
    prefetch_clicks: z.int(),
  }),
  clicks_over_time: z.array(
    z.object({
      date: z.string(),
      clicks: z.int(),
      unique: z.int(),
      unfinished: z.literal(true).optional(),
    }),
  ),
};

const change = z.number().nullable().meta({
  description: "Change in percent since the compared period; null if that had none.",
});

/** The same counts for an earlier period. */
const comparison = z.object({
  from: z.iso.datetime(),
  to: z.iso.datetime(),
  current: z.object({ from: z.iso.datetime(), to: z.iso.datetime() }),
  ...rangeCounts,
  change: z.object({ total_clicks: change, unique_clicks: change }),
  ...completeFrom,
});

const timeSeries = {
  period: z.string(),
  ...rangeCounts,
  ...completeFrom,
  comparison: comparison.optional(),
};

const compare = { compare: z.enum(COMPARISONS).optional() };

export const summaryQuery = analyticsQuery.extend(compare);

export type SummaryQuery = z.output<typeof summaryQuery>;

export const summaryResponse = z.object({ link_id: z.string(), ...timeSeries });

/** Without the id of the link. */
export type Summary = Omit<z.output<typeof summaryResponse>, "link_id">;

/** Maximum entries of one list. */
const RESULTS_MAX = 100;

const resultLimit = z.coerce.number().int().min(1).max(RESULTS_MAX).default(10);

export const geoQuery = analyticsQuery.extend({
  group_by: z.enum(["country", "region", "city"]).default("country"),
  limit: resultLimit,
});

export const accountQuery = summaryQuery.extend({ limit: resultLimit });

export type AccountQuery = z.output<typeof accountQuery>;

export const accountResponse = z.object({
  ...timeSeries,
  top_links: z.array(z.object({ link_id: z.string(), ...linkName.shape, clicks: z.int() })),
});

export type AccountSummary = z.output<typeof accountResponse>;

export type GeoQuery = z.output<typeof geoQuery>;

const counts = { clicks: z.int(), percentage: z.number() };

const countryClicks = z
  .object({ country: z.string(), country_name: z.string(), ...counts })
  .meta({ id: "CountryClicks" });

const regionClicks = z
  .object({ region: z.string(), region_name: z.string(), country: z.string(), ...counts })
  .meta({ id: "RegionClicks" });

const cityClicks = z
  .object({ city: z.string(), region: z.string(), country: z.string(), ...counts })
  .meta({ id: "CityClicks" });

const byCountry = z.object({
  group_by: z.literal("country"),
  data: z.array(countryClicks),
  ...completeFrom,
});
const byRegion = z.object({
  group_by: z.literal("region"),
  data: z.array(regionClicks),
  ...completeFrom,
});
const byCity = z.object({
  group_by: z.literal("city"),
  data: z.array(cityClicks),
  ...completeFrom,
});
const linkId = { link_id: z.string() };

export const geoResponse = z.discriminatedUnion("group_by", [
  z.object({ ...linkId, ...byCountry.shape }).meta({ id: "LinkGeoByCountry" }),
  z.object({ ...linkId, ...byRegion.shape }).meta({ id: "LinkGeoByRegion" }),
  z.object({ ...linkId, ...byCity.shape }).meta({ id: "LinkGeoByCity" }),
]);

export const accountGeoResponse = z.discriminatedUnion("group_by", [
  byCountry.meta({ id: "AccountGeoByCountry" }),
  byRegion.meta({ id: "AccountGeoByRegion" }),
  byCity.meta({ id: "AccountGeoByCity" }),
]);

export type AccountGeoResponse = z.output<typeof accountGeoResponse>;

const namedCounts = z.array(z.object({ name: z.string(), ...counts }));

export const devicesResponse = z.object({
  link_id: z.string(),
  devices: z.array(z.object({ type: z.string(), ...counts })),
  browsers: namedCounts,
  os: namedCounts,
  ...completeFrom,
});

export const accountDevicesResponse = devicesResponse.omit({ link_id: true });

export type AccountDevicesResponse = z.output<typeof accountDevicesResponse>;

export const referrersQuery = analyticsQuery.extend({ limit: resultLimit });

export type ReferrersQuery = z.output<typeof referrersQuery>;

export const referrersResponse = z.object({
  link_id: z.string(),
  referrers: z.array(z.object({ source: z.string(), ...counts })),
  ...completeFrom,
});

export const accountReferrersResponse = referrersResponse.omit({ link_id: true });

export type AccountReferrersResponse = z.output<typeof accountReferrersResponse>;

/** Maximum dimensions of one breakdown. */
const DIMENSIONS_MAX = 2;

/** Longer than any two dimension names together. */
const DIMENSIONS_LENGTH_MAX = 64;

const dimensions = <Name extends string>(names: readonly [Name, ...Name[]]) =>
  z
    .string()
    .max(DIMENSIONS_LENGTH_MAX)
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
  starting_after: z.string().max(CURSOR_LENGTH_MAX).optional().meta({
    description: "The `next_cursor` of the page before.",
  }),
};

export const breakdownQuery = analyticsQuery.extend({
  by: dimensions(COLUMN_FILTERS).meta({
    description: "One dimension, or two separated by a comma.",
    examples: ["country,device"],
  }),
  ...breakdownPage,
});

export type BreakdownQuery = z.output<typeof breakdownQuery>;

export const accountBreakdownQuery = analyticsQuery.extend({
  by: dimensions([...COLUMN_FILTERS, "link", ...LINK_PROPERTIES]).meta({
    description:
      "One dimension, or two separated by a comma. `tag` and `domain`, those that the links have now, stand alone.",
    examples: ["tag"],
  }),
  ...breakdownPage,
});

export type AccountBreakdownQuery = z.output<typeof accountBreakdownQuery>;

const countedValues = z.object({
  values: z.record(z.string(), z.string()),
  clicks: z.int(),
  unique_clicks: z.int(),
  percentage: z.number(),
});

export const accountBreakdownResponse = z.object({
  period: z.string(),
  by: z.array(z.string()),
  total_clicks: z
    .int()
    .meta({ description: "Clicks of all values, also of those on other pages." }),
  data: z.array(countedValues.extend({ link: linkName.optional() })),
  next_cursor: z.string().nullable(),
  ...completeFrom,
});

export type AccountBreakdownResponse = z.output<typeof accountBreakdownResponse>;

export const breakdownResponse = accountBreakdownResponse.extend({
  data: z.array(countedValues),
  link_id: z.string(),
});

export const accountTimesResponse = z.object({
  period: z.string(),
  first_click_at: z.iso.datetime().nullable(),
  last_click_at: z.iso.datetime().nullable(),
  heatmap: z.array(z.array(z.int())).meta({
    description: "Clicks by weekday, from Monday, and by hour of the time zone.",
  }),
  ...completeFrom,
});

export type AccountTimesResponse = z.output<typeof accountTimesResponse>;

export const timesResponse = accountTimesResponse.extend({ link_id: z.string() });
