/** Analytics as clients see them. */
import * as z from "zod";

import { PERIODS } from "./period.ts";

export const periodQuery = z.object({
  period: z.enum(PERIODS).optional(),
  start_date: z.string().optional(),
  end_date: z.string().optional(),
  timezone: z.string().optional(),
});

const overTime = {
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

export const summaryAnswer = z.object({ link_id: z.string(), ...overTime });

export type Summary = z.output<typeof summaryAnswer>;

const resultLimit = z.coerce.number().int().min(1).max(100).default(10);

export const geoQuery = periodQuery.extend({
  group_by: z.enum(["country", "region", "city"]).default("country"),
  limit: resultLimit,
});

export const accountQuery = periodQuery.extend({ limit: resultLimit });

export type AccountQuery = z.output<typeof accountQuery>;

export const accountAnswer = z.object({
  ...overTime,
  top_links: z.array(z.object({ link_id: z.string(), clicks: z.int() })),
});

export type AccountSummary = z.output<typeof accountAnswer>;

export type GeoQuery = z.output<typeof geoQuery>;

const figures = { clicks: z.int(), percentage: z.number() };

export const geoAnswer = z.object({
  link_id: z.string(),
  group_by: z.string(),
  data: z.array(
    z.union([
      z.object({ country: z.string(), country_name: z.string(), ...figures }),
      z.object({ city: z.string(), region: z.string(), country: z.string(), ...figures }),
      z.object({ region: z.string(), region_name: z.string(), country: z.string(), ...figures }),
    ]),
  ),
});

export type GeoAnswer = z.output<typeof geoAnswer>;

/** Breakdowns of all links together name none. */
export const accountGeoAnswer = geoAnswer.omit({ link_id: true });

export type AccountGeoAnswer = z.output<typeof accountGeoAnswer>;

const named = z.array(z.object({ name: z.string(), ...figures }));

export const devicesAnswer = z.object({
  link_id: z.string(),
  devices: z.array(z.object({ type: z.string(), ...figures })),
  browsers: named,
  os: named,
});

export type DevicesAnswer = z.output<typeof devicesAnswer>;

export const accountDevicesAnswer = devicesAnswer.omit({ link_id: true });

export type AccountDevicesAnswer = z.output<typeof accountDevicesAnswer>;

export const referrersQuery = periodQuery.extend({ limit: resultLimit });

export type ReferrersQuery = z.output<typeof referrersQuery>;

export const referrersAnswer = z.object({
  link_id: z.string(),
  referrers: z.array(z.object({ source: z.string(), ...figures })),
});

export type ReferrersAnswer = z.output<typeof referrersAnswer>;

export const accountReferrersAnswer = referrersAnswer.omit({ link_id: true });

export type AccountReferrersAnswer = z.output<typeof accountReferrersAnswer>;

const METRICS = ["clicks", "unique_clicks", "top_countries"] as const;

export const bulkBody = z.strictObject({
  link_ids: z
    .array(z.string())
    .min(1)
    .max(100)
    .refine((ids) => new Set(ids).size === ids.length, "must not name a link twice"),
  period: z.enum(PERIODS).optional(),
  metrics: z
    .array(z.enum(METRICS))
    .min(1)
    .default([...METRICS]),
});

export type BulkBody = z.output<typeof bulkBody>;

export const bulkAnswer = z.object({
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

export type BulkAnswer = z.output<typeof bulkAnswer>;
