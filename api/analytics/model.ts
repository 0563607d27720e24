/** Analytics as clients see them. */
import * as z from "zod";

import { PERIODS } from "./period.ts";

export const periodQuery = z.object({
  period: z.enum(PERIODS).optional(),
  start_date: z.string().optional(),
  end_date: z.string().optional(),
  timezone: z.string().optional(),
});

export const summaryAnswer = z.object({
  link_id: z.string(),
  period: z.string(),
  summary: z.object({
    total_clicks: z.int(),
    unique_clicks: z.int(),
    avg_daily_clicks: z.int(),
    bot_clicks: z.int(),
  }),
  clicks_over_time: z.array(z.object({ date: z.string(), clicks: z.int(), unique: z.int() })),
});

export type Summary = z.output<typeof summaryAnswer>;
