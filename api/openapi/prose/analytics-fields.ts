/** The fields of analytics. */
import { LINK_ID } from "../../../shared/contracts/examples.ts";
import type { Prose } from "./types.ts";

const FAILURE_FIELDS: Readonly<Record<string, Prose>> = {
  total: { text: "Failed requests for all reasons.", example: 31 },
  unknown_alias: {
    text: "Requests for aliases without a link on verified domains of the account.",
    example: 12,
  },
  expired: { text: "Requests for links that had expired.", example: 9 },
  limit_reached: { text: "Requests for links whose click limit was reached.", example: 5 },
  wrong_password: { text: "Wrong passwords.", example: 3 },
  disabled: { text: "Requests for disabled links.", example: 1 },
  not_started: { text: "Requests for links before their start.", example: 1 },
};

/** The reasons of failed requests, whose names mean other things elsewhere. */
const ofFailures = Object.fromEntries(
  ["FailureCounts", "DatedFailureCounts", "LinkFailureCounts"].flatMap((schema) =>
    Object.entries(FAILURE_FIELDS).map(([field, prose]) => [`${schema}.${field}`, prose]),
  ),
);

export const ANALYTICS_FIELDS: Readonly<Record<string, Prose>> = {
  link_id: { text: "The link's id.", example: LINK_ID },
  link_ids: { text: "Up to 100 links, none of them twice.", example: [LINK_ID] },
  "LinkSummary.period": { text: "The period of the query; `custom` with dates.", example: "7d" },
  "AccountSummary.period": { text: "The period of the query; `custom` with dates.", example: "7d" },
  "BulkAnalyticsQuery.period": { text: "The period; `30d` when left out.", example: "7d" },
  metrics: {
    text: "The figures to return; all of them when left out.",
    example: ["clicks", "unique_clicks", "top_countries"],
  },
  summary: { text: "The sums over the period." },
  comparison: {
    text: "The same figures of an earlier period, `from` and `to`; only with `compare`. While the period of the query lasts, the earlier one ends at the same moment, so that like is compared with like.",
  },
  current: { text: "The part of the query's period that is compared: what has passed of it." },
  "LinkSummary.from": { text: "When the span begins.", example: "2026-02-22T00:00:00.000Z" },
  "LinkSummary.to": { text: "When the span ends.", example: "2026-03-01T00:00:00.000Z" },
  "AccountSummary.from": { text: "When the span begins.", example: "2026-02-22T00:00:00.000Z" },
  "AccountSummary.to": { text: "When the span ends.", example: "2026-03-01T00:00:00.000Z" },
  change: { text: "The change since then." },
  complete_from: {
    text: "Present when clicks of the range have been deleted.",
    example: "2026-02-01T00:00:00.000Z",
  },
  "LinkBreakdown.period": { text: "The period of the query; `custom` with dates.", example: "7d" },
  "AccountBreakdown.period": {
    text: "The period of the query; `custom` with dates.",
    example: "7d",
  },
  "LinkTimes.period": { text: "The period of the query; `custom` with dates.", example: "7d" },
  "AccountTimes.period": { text: "The period of the query; `custom` with dates.", example: "7d" },
  by: { text: "The dimensions of the query.", example: ["country", "device"] },
  "AccountBreakdown.link": { text: "The link in `values`; only where it is a dimension." },
  "LinkName.short_url": {
    text: "The short URL; null for a deleted link, and without the scope `links:read`.",
    example: "https://short.example.com/spring-sale",
  },
  "LinkName.title": {
    text: "The title; null for none, for a deleted link, and without the scope `links:read`.",
    example: "Spring sale",
  },
  "TopLink.short_url": {
    text: "The short URL; null for a deleted link, and without the scope `links:read`.",
    example: "https://short.example.com/spring-sale",
  },
  "TopLink.title": {
    text: "The title; null for none, for a deleted link, and without the scope `links:read`.",
    example: "Spring sale",
  },
  values: {
    text: "The value of each dimension. A region has its country too, and a city its country and region.",
    example: { country: "DE", device: "mobile" },
  },
  first_click_at: {
    text: "The first click of the period; null without.",
    example: "2026-03-02T09:15:07.318Z",
  },
  last_click_at: {
    text: "The last click of the period; null without.",
    example: "2026-03-07T21:40:11.020Z",
  },
  heatmap: {
    text: "Clicks by weekday, from Monday, and by hour of the time zone.",
    example: [[0, 3, 1]],
  },
  "Failures.period": { text: "The period of the query; `custom` with dates.", example: "7d" },
  failures_over_time: {
    text: "One entry for each day of the period, or for each hour with `24h`, without gaps.",
  },
  "Failures.top_links": {
    text: "The links with the most failed requests in the period, also deleted ones.",
  },
  unknown_aliases: {
    text: "The unknown aliases that were asked for most often. Each redirector counts up to 100 per domain by name, so in a flood of made-up ones the sum exceeds these. They are kept for 90 days at most.",
  },
  ...ofFailures,
  "UnknownAlias.domain": { text: "The domain.", example: "go.example.com" },
  "UnknownAlias.alias": { text: "What was asked for.", example: "spring-sael" },
  "UnknownAlias.requests": { text: "How often it was asked for.", example: 7 },
  filters: { text: "Filters, as in the query of other requests." },
  total_clicks: { text: "Clicks by people.", example: 1284 },
  unique_clicks: { text: "Distinct visitors.", example: 973 },
  avg_daily_clicks: {
    text: "Clicks by people divided by the days of the period, today as a whole one, and rounded to a whole number: 5 clicks in 30 days are 0. `clicks_per_day` is finer.",
    example: 183,
  },
  clicks_per_day: {
    text: "Clicks by people per 24 hours of what has passed of the period, with one decimal. Less than a day counts as one.",
    example: 201.6,
  },
  bot_clicks: {
    text: "Clicks by crawlers and previews, which no other figure includes.",
    example: 57,
  },
  prefetch_clicks: {
    text: "Requests that a browser or Office made before a person opened the link; in no other figure.",
    example: 12,
  },
  clicks_over_time: {
    text: "One entry for each day of the period, or for each hour with `24h`, without gaps.",
  },
  date: {
    text: "The local day (`2026-03-02`) or hour (`2026-03-02T09:00`) in the time zone of the query, without an offset.",
    example: "2026-03-02",
  },
  clicks: { text: "Clicks by people.", example: 214 },
  unique: { text: "Distinct visitors of this day or hour.", example: 187 },
  unfinished: {
    text: "Present when this day or hour was not over: its figures go on growing.",
    example: true,
  },
  percentage: {
    text: "Share of the clicks in the period, in percent, with one decimal.",
    example: 16.7,
  },
  group_by: { text: "The parameter of the query, which decides the form of `data`." },
  country: { text: "The country's code by ISO 3166-1; `ZZ` when it is unknown.", example: "DE" },
  country_name: { text: "The country's English name, or `Unknown`.", example: "Germany" },
  region: {
    text: "The region's code by ISO 3166-2, its name where it has no code, or `Unknown`.",
    example: "DE-BE",
  },
  region_name: { text: "The region's name, or `Unknown`.", example: "Land Berlin" },
  city: { text: "The city's name, or `Unknown`.", example: "Berlin" },
  "LinkGeoByCountry.data": { text: "Countries by clicks, the most first." },
  "LinkGeoByRegion.data": { text: "Regions by clicks, the most first." },
  "LinkGeoByCity.data": { text: "Cities by clicks, the most first." },
  "AccountGeoByCountry.data": { text: "Countries by clicks, the most first." },
  "AccountGeoByRegion.data": { text: "Regions by clicks, the most first." },
  "AccountGeoByCity.data": { text: "Cities by clicks, the most first." },
  devices: { text: "Kinds of device by clicks, the most first." },
  "DeviceClicks.type": {
    text: "`desktop`, `mobile`, `tablet`, or `other` for televisions, consoles and the unknown.",
    example: "mobile",
  },
  browsers: { text: "Browsers by clicks, the most first." },
  os: { text: "Operating systems by clicks, the most first." },
  "NamedClicks.name": { text: "The name of the browser or system.", example: "Safari" },
  referrers: { text: "Sources by clicks, the most first." },
  source: {
    text: "The site that linked here, such as `google`; its host when it is not well known; `direct` for none.",
    example: "google",
  },
  top_links: { text: "The links with the most clicks in the period, also deleted ones." },
  top_countries: {
    text: "Up to five countries with the most clicks, the most first.",
    example: ["DE", "US"],
  },
  "BulkAnalytics.data": { text: "One entry for each link that exists." },
  errors: { text: "The links that do not exist; absent when all do." },
  "BulkAnalytics.code": { text: "Why the link is not in `data`.", example: "not_found" },
  "BulkAnalytics.message": { text: "A sentence for people.", example: "The link does not exist." },
  host: { text: "The short domain that was visited.", example: "short.example.com" },
  class_reason: { text: "Why a click is no person's; empty otherwise.", example: "googlebot" },
  continent: { text: "The continent's code; empty when it is unknown.", example: "EU" },
  device: { text: "`desktop`, `mobile`, `tablet` or `other`.", example: "mobile" },
  browser: { text: "The name of the browser.", example: "Safari" },
  referrer: { text: "The site that linked here; `direct` for none.", example: "google.com" },
  referrer_path: { text: "The path of the page that linked here.", example: "/news" },
  language: { text: "The preferred language of the browser.", example: "de" },
  "ListedClick.os": { text: "The name of the system.", example: "iOS" },
  "ListedClick.id": {
    text: "The click's place in a redirector's journal, unique for ever.",
    example: "0199d3e2-7f6a-7cc1-9d7a-3c1b4e2f8a10.12.3",
  },
  time: { text: "When the redirect was sent.", example: "2026-03-02T09:15:07.318Z" },
  class: { text: "`human`, `bot` or `prefetch`.", example: "human" },
  "ClickEvent.country": {
    text: "The country's code by ISO 3166-1; `ZZ` when it is unknown.",
    example: "DE",
  },
  "ClickEvent.region": { text: "The region's code; empty when it is unknown.", example: "DE-BE" },
  "ClickEvent.city": { text: "The city's name; empty when it is unknown.", example: "Berlin" },
  "ClickEvent.browser": { text: "The name of the browser.", example: "Safari" },
  "ClickEvent.os": { text: "The name of the system.", example: "iOS" },
  "ClickEvent.device": { text: "`desktop`, `mobile`, `tablet` or `other`.", example: "mobile" },
  "ClickEvent.referrer": {
    text: "The site that linked here; `direct` for none.",
    example: "google",
  },
};
