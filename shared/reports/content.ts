/**
 * What a report says, as events have it under `report`: computed once, and the same wherever it is
 * read.
 */
import * as z from "zod";

import { REPORT_LANGUAGES, REPORT_PERIODS } from "../contracts/report-schemas.ts";

const count = z.int().min(0);

/** A count, that of the period before, and the change in percent: null if there was none before. */
const compared = z.object({ total: count, before: count, change: z.number().nullable() });

/** A link; `short_url` is null when it has been deleted, `title` also when it has none. */
const namedLink = z.object({
  link_id: z.string(),
  short_url: z.string().nullable(),
  title: z.string().nullable(),
});

export const reportContent = z.object({
  /** The public id and the name of the report. */
  id: z.string(),
  name: z.string(),
  /** What it is about; the account and mode if both are null. */
  tag: z.string().nullable(),
  link: namedLink.nullable(),
  period: z.enum(REPORT_PERIODS),
  /** The period in local days, both included, and as instants; `to` is exclusive. */
  first_day: z.iso.date(),
  last_day: z.iso.date(),
  from: z.iso.datetime(),
  to: z.iso.datetime(),
  timezone: z.string(),
  language: z.enum(REPORT_LANGUAGES),
  clicks: compared,
  unique_clicks: compared,
  bot_clicks: count,
  /** The links with the most clicks; empty when it is about one link. */
  top_links: z.array(namedLink.extend({ clicks: count })),
  /** The countries (ISO 3166-1, `ZZ` where it is unknown) with the most clicks. */
  countries: z.array(z.object({ country: z.string(), clicks: count })),
  /** The referrers with the most clicks: registrable domains, or `direct`. */
  referrers: z.array(z.object({ referrer: z.string(), clicks: count })),
  /** Requests that were not redirected, by reason; null where that is not known, as for tags. */
  failures: z
    .object({
      total: count,
      unknown_alias: count,
      expired: count,
      limit_reached: count,
      wrong_password: count,
      disabled: count,
      not_started: count,
    })
    .nullable(),
});

export type ReportContent = z.output<typeof reportContent>;
