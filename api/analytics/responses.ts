/** The responses of analytics. */
import * as z from "zod";

import { component } from "../../shared/contracts/components.ts";
import { LAST_CLICK_AT, LINK_ID, SHORT_URL } from "../../shared/contracts/examples.ts";
import { destination, targetFields } from "../../shared/contracts/link-fields.ts";
import { count, instant, instantOrNull, items, text, textOrNull } from "../http/common-schemas.ts";
import { entriesOf, nextCursor } from "../http/pagination.ts";
import { hasRawClicks, type RetainedSpan } from "./plan.ts";

export const linkId = text("The link's id.", LINK_ID);

export const periodOfQuery = text("The period of the query; `custom` with dates.", "7d");

export const completeFromField = {
  complete_from: instant(
    "Present when filters need single clicks that have been deleted: earlier clicks are not counted.",
    "2026-02-01T00:00:00.000Z",
  ).optional(),
};

/**
 * Says from when raw clicks are complete, if the response needs them and retention has deleted
 * some of the range.
 */
export const completeFrom = (range: RetainedSpan, needsRaw = true): { complete_from?: string } =>
  needsRaw && !hasRawClicks(range) ? { complete_from: new Date(range.rawFrom).toISOString() } : {};

export const clicks = count("Clicks by people.", 214);

const totalClicks = count("Clicks by people.", 1284);

const uniqueClicks = count("Distinct visitors.", 973);

export const percentage = z.number().meta({
  description: "Share of the clicks in the period, in percent, with one decimal.",
  examples: [16.7],
});

/** A share in percent, with one decimal. */
export const percentageOf = (part: number, total: number): number =>
  Math.round((part / total) * 1_000) / 10;

/** The day or hour of an entry. */
export const date = text(
  "The local day (`2026-03-02`) or hour (`2026-03-02T09:00`) in the time zone of the query, without an offset.",
  "2026-03-02",
);

/** The description of a list with an entry for each day or hour. */
export const overTimeMeta = {
  description: "One entry for each day of the period, or for each hour with `24h`, without gaps.",
};

export const country = text("The country's code by ISO 3166-1; `ZZ` when it is unknown.", "DE");

export const region = text(
  "The region's code by ISO 3166-2, its name where it has no code, or `Unknown`.",
  "DE-BE",
);

export const regionName = text("The region's name, or `Unknown`.", "Land Berlin");

export const city = text("The city's name, or `Unknown`.", "Berlin");

/** The visitor of a raw click. */
export const clickFields = {
  time: text("When the redirect was sent.", "2026-03-02T09:15:07.318Z"),
  class: text("`human`, `bot` or `prefetch`.", "human"),
  device: text("`desktop`, `mobile`, `tablet` or `other`.", "mobile"),
  browser: text("The name of the browser.", "Safari"),
  os: text("The name of the system.", "iOS"),
  referrer: text("The site that linked here; `direct` for none.", "google.com"),
};

/** Both are null for a deleted link, and for callers who may not read links. */
const linkName = component(
  "LinkName",
  "The link's current short URL and title. Both are null for a deleted link, and for a key without the scope `links:read`.",
  {
    short_url: textOrNull(
      "The short URL; null for a deleted link, and without the scope `links:read`.",
      SHORT_URL,
    ),
    title: textOrNull(
      "The title; null for none, for a deleted link, and without the scope `links:read`.",
      "Spring sale",
    ),
  },
);

export type LinkName = z.output<typeof linkName>;

const clickTotals = component("ClickTotals", "Sums over a period.", {
  total_clicks: totalClicks,
  unique_clicks: uniqueClicks,
  avg_daily_clicks: count(
    "Clicks by people divided by the days of the period, rounded to a whole number; today counts as a whole day. 5 clicks in 30 days are 0: `clicks_per_day` is more precise.",
    183,
  ),
  clicks_per_day: z.number().meta({
    description:
      "Clicks by people per 24 hours of the period so far, with one decimal. Less than a day counts as one day.",
    examples: [201.6],
  }),
  bot_clicks: count("Clicks by crawlers and link previews; no other count includes them.", 57),
  prefetch_clicks: count(
    "Requests that a browser or Office made before a person opened the link; no other count includes them.",
    12,
  ),
});

const clicksAtTime = component("ClicksAtTime", "The clicks of a day or an hour.", {
  date,
  clicks,
  unique: count("Distinct visitors of this day or hour.", 187),
  unfinished: z.literal(true).optional().meta({
    description: "Present when this day or hour is not over yet: its counts still grow.",
  }),
});

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
  from: instant("The start.", "2026-02-22T00:00:00.000Z"),
  to: instant("The end.", "2026-03-01T00:00:00.000Z"),
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
  ...completeFromField,
});

const timeSeries = {
  period: periodOfQuery,
  ...rangeCounts,
  ...completeFromField,
  comparison: comparison.optional().meta({
    description:
      "The same counts for an earlier period, from `from` to `to`; only with `compare`. While the queried period is not over, the earlier one ends at the corresponding time.",
  }),
};

export const summaryResponse = component("LinkSummary", "The clicks of a link over time.", {
  link_id: linkId,
  ...timeSeries,
});

/** Without the id of the link. */
export type Summary = Omit<z.output<typeof summaryResponse>, "link_id">;

const topLink = component("TopLink", "A link with its clicks in the period.", {
  link_id: linkId,
  ...linkName.shape,
  clicks,
});

export const accountResponse = component("AccountSummary", "The clicks of all links over time.", {
  ...timeSeries,
  top_links: items(
    "The links with the most clicks in the period, including deleted ones.",
    topLink,
  ),
});

export type AccountSummary = z.output<typeof accountResponse>;

const counts = { clicks, percentage };

const countryClicks = component("CountryClicks", "The clicks of a country.", {
  country,
  country_name: text("The country's English name, or `Unknown`.", "Germany"),
  ...counts,
});

const regionClicks = component("RegionClicks", "The clicks of a region.", {
  region,
  region_name: regionName,
  country,
  ...counts,
});

const cityClicks = component("CityClicks", "The clicks of a city.", {
  city,
  region,
  country,
  ...counts,
});

const groupedBy = <Name extends string>(name: Name) =>
  z.literal(name).meta({
    description: "The parameter of the query, which determines the form of `data`.",
  });

const byCountry = z.object({
  group_by: groupedBy("country"),
  data: items("Countries, most clicks first.", countryClicks),
  ...completeFromField,
});
const byRegion = z.object({
  group_by: groupedBy("region"),
  data: items("Regions, most clicks first.", regionClicks),
  ...completeFromField,
});
const byCity = z.object({
  group_by: groupedBy("city"),
  data: items("Cities, most clicks first.", cityClicks),
  ...completeFromField,
});
const ofLink = { link_id: linkId };

export const geoResponse = z
  .discriminatedUnion("group_by", [
    component("LinkGeoByCountry", "The clicks of a link by country.", {
      ...ofLink,
      ...byCountry.shape,
    }),
    component("LinkGeoByRegion", "The clicks of a link by region.", {
      ...ofLink,
      ...byRegion.shape,
    }),
    component("LinkGeoByCity", "The clicks of a link by city.", { ...ofLink, ...byCity.shape }),
  ])
  .meta({
    id: "LinkGeo",
    description: "The clicks of a link by location; `group_by` determines the form of `data`.",
  });

export const accountGeoResponse = z
  .discriminatedUnion("group_by", [
    byCountry.meta({
      id: "AccountGeoByCountry",
      description: "The clicks of all links by country.",
    }),
    byRegion.meta({ id: "AccountGeoByRegion", description: "The clicks of all links by region." }),
    byCity.meta({ id: "AccountGeoByCity", description: "The clicks of all links by city." }),
  ])
  .meta({
    id: "AccountGeo",
    description: "The clicks of all links by location; `group_by` determines the form of `data`.",
  });

export type AccountGeoResponse = z.output<typeof accountGeoResponse>;

const deviceClicks = component("DeviceClicks", "The clicks of a kind of device.", {
  type: text(
    "`desktop`, `mobile`, `tablet`, or `other` for televisions, consoles and the unknown.",
    "mobile",
  ),
  ...counts,
});

const namedClicks = component("NamedClicks", "The clicks of a browser or a system.", {
  name: text("The name of the browser or system.", "Safari"),
  ...counts,
});

const devices = {
  devices: items("Kinds of device, most clicks first.", deviceClicks),
  browsers: items("Browsers, most clicks first.", namedClicks),
  os: items("Operating systems, most clicks first.", namedClicks),
  ...completeFromField,
};

export const devicesResponse = component(
  "LinkDevices",
  "The clicks of a link by device, browser and system.",
  { ...ofLink, ...devices },
);

export const accountDevicesResponse = component(
  "AccountDevices",
  "The clicks of all links by device, browser and system.",
  devices,
);

export type AccountDevicesResponse = z.output<typeof accountDevicesResponse>;

const referrerClicks = component("ReferrerClicks", "The clicks of a referrer.", {
  source: text(
    "The site that linked here, such as `google`; its host when it is not well known; `direct` for none.",
    "google",
  ),
  ...counts,
});

const referrers = {
  referrers: items("Sources, most clicks first.", referrerClicks),
  ...completeFromField,
};

export const referrersResponse = component("LinkReferrers", "The clicks of a link by referrer.", {
  ...ofLink,
  ...referrers,
});

export const accountReferrersResponse = component(
  "AccountReferrers",
  "The clicks of all links by referrer.",
  referrers,
);

export type AccountReferrersResponse = z.output<typeof accountReferrersResponse>;

const countedValues = z.object({
  values: z.record(z.string(), z.string()).meta({
    description:
      "The value of each dimension. A region has its country too, and a city its country and region.",
  }),
  clicks,
  unique_clicks: uniqueClicks,
  percentage,
});

const breakdown = {
  period: periodOfQuery,
  by: z
    .array(z.string())
    .meta({ description: "The dimensions of the query.", examples: [["country", "device"]] }),
  total_clicks: totalClicks.meta({
    description: "Clicks of all values, also of those on other pages.",
  }),
};

export const accountBreakdownResponse = component(
  "AccountBreakdown",
  "The clicks of all links by one or two dimensions.",
  {
    ...breakdown,
    data: entriesOf(
      countedValues.extend({
        link: linkName
          .optional()
          .meta({ description: "The link in `values`; only where it is a dimension." }),
      }),
    ),
    next_cursor: nextCursor,
    ...completeFromField,
  },
);

export type AccountBreakdownResponse = z.output<typeof accountBreakdownResponse>;

export const breakdownResponse = component(
  "LinkBreakdown",
  "The clicks of a link by one or two dimensions.",
  {
    ...breakdown,
    data: entriesOf(countedValues),
    next_cursor: nextCursor,
    ...completeFromField,
    ...ofLink,
  },
);

const times = {
  period: periodOfQuery,
  first_click_at: instantOrNull(
    "The first click of the period; null when there is none.",
    "2026-03-02T09:15:07.318Z",
  ),
  last_click_at: instantOrNull(
    "The last click of the period; null when there is none.",
    LAST_CLICK_AT,
  ),
  heatmap: z.array(z.array(z.int())).meta({
    description: "Clicks by weekday, from Monday, and by hour of the time zone.",
    examples: [[[0, 3, 1]]],
  }),
  ...completeFromField,
};

export const accountTimesResponse = component("AccountTimes", "When links were clicked.", times);

export type AccountTimesResponse = z.output<typeof accountTimesResponse>;

export const timesResponse = component("LinkTimes", "When a link was clicked.", {
  ...times,
  ...ofLink,
});

export const targetsResponse = component("LinkTargets", "The clicks of a link by rule and arm.", {
  link_id: linkId,
  data: entriesOf(
    z.object({
      ...targetFields,
      label: textOrNull("The label of an arm of the split; null when it has none.", "New page"),
      url: destination.nullable().meta({
        description: "The destination; null for a rule or arm that the link no longer has.",
      }),
      clicks,
      unique_clicks: uniqueClicks,
      percentage,
    }),
  ),
  ...completeFromField,
});

export type TargetsResponse = z.output<typeof targetsResponse>;

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
  code: text("Why the link is not in `data`.", "not_found"),
  message: text("A sentence for people.", "The link does not exist."),
});

export const bulkResponse = component("BulkAnalytics", "Metrics of several links.", {
  data: items("One entry for each link that exists.", linkCounts),
  errors: items("The links that do not exist; absent when all do.", linkError).optional(),
  ...completeFromField,
});

export type BulkResponse = z.output<typeof bulkResponse>;
