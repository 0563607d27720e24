/** Schemas of analytics queries and responses. */
import * as z from "zod";

import { PERIODS } from "../../shared/contracts/periods.ts";

export const periodQuery = z.object({
  period: z.enum(PERIODS).optional(),
  start_date: z.string().optional(),
  end_date: z.string().optional(),
  timezone: z.string().optional(),
});

const timeSeries = {
  period: z.string(),
  summary: z.object({
    total_clicks: z.int(),
    unique_clicks: z.int(),
    avg_daily_clicks: z.int(),
    bot_clicks: z.int(),
    prefetch_clicks: z.int(),
  }),
  clicks_over_time: z.array(z.object({ date: z.string(), clicks: z.int(), unique: z.int() })),
};

export const summaryResponse = z.object({ link_id: z.string(), ...timeSeries });

export type Summary = z.output<typeof summaryResponse>;

/** Maximum entries of one list. */
const RESULTS_MAX = 100;

/** Maximum links of one bulk query. */
const LINKS_MAX = 100;

const resultLimit = z.coerce.number().int().min(1).max(RESULTS_MAX).default(10);

export const geoQuery = periodQuery.extend({
  group_by: z.enum(["country", "region", "city"]).default("country"),
  limit: resultLimit,
});

export const accountQuery = periodQuery.extend({ limit: resultLimit });

export type AccountQuery = z.output<typeof accountQuery>;

export const accountResponse = z.object({
  ...timeSeries,
  top_links: z.array(z.object({ link_id: z.string(), clicks: z.int() })),
});

export type AccountSummary = z.output<typeof accountResponse>;

export type GeoQuery = z.output<typeof geoQuery>;

const counts = { clicks: z.int(), percentage: z.number() };

export const geoResponse = z.object({
  link_id: z.string(),
  group_by: z.string(),
  data: z.array(
    z.union([
      z.object({ country: z.string(), country_name: z.string(), ...counts }),
      z.object({ city: z.string(), region: z.string(), country: z.string(), ...counts }),
      z.object({ region: z.string(), region_name: z.string(), country: z.string(), ...counts }),
    ]),
  ),
});

export type GeoResponse = z.output<typeof geoResponse>;

export const accountGeoResponse = geoResponse.omit({ link_id: true });

export type AccountGeoResponse = z.output<typeof accountGeoResponse>;

const namedCounts = z.array(z.object({ name: z.string(), ...counts }));

export const devicesResponse = z.object({
  link_id: z.string(),
  devices: z.array(z.object({ type: z.string(), ...counts })),
  browsers: namedCounts,
  os: namedCounts,
});

export type DevicesResponse = z.output<typeof devicesResponse>;

export const accountDevicesResponse = devicesResponse.omit({ link_id: true });

export type AccountDevicesResponse = z.output<typeof accountDevicesResponse>;

export const referrersQuery = periodQuery.extend({ limit: resultLimit });

export type ReferrersQuery = z.output<typeof referrersQuery>;

export const referrersResponse = z.object({
  link_id: z.string(),
  referrers: z.array(z.object({ source: z.string(), ...counts })),
});

export type ReferrersResponse = z.output<typeof referrersResponse>;

export const accountReferrersResponse = referrersResponse.omit({ link_id: true });

export type AccountReferrersResponse = z.output<typeof accountReferrersResponse>;

const METRICS = ["clicks", "unique_clicks", "top_countries"] as const;

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
});

export type BulkResponse = z.output<typeof bulkResponse>;
