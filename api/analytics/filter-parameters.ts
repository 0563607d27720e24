/** Filters of analytics: they select clicks by a column or by a property of their link. */
import type * as z from "zod";

import { filterParameter, type Values } from "../http/filter-parameter.ts";
import type { FilterName } from "./filter-names.ts";
import { parseFilterValue } from "./filter-values.ts";

const parameter = (name: FilterName, description: string, example: string) =>
  filterParameter(description, example, (text) => parseFilterValue(name, text));

/** The query parameters of all filters. */
export const filterParameters = {
  country: parameter("country", "ISO 3166-1 code of the country; `ZZ` where it is unknown.", "DE"),
  region: parameter(
    "region",
    "ISO 3166-2 code of the region, its name where it has no code, or `Unknown`.",
    "DE-BE",
  ),
  city: parameter("city", "Name of the city, or `Unknown`.", "Berlin"),
  continent: parameter(
    "continent",
    "`AF`, `AN`, `AS`, `EU`, `NA`, `OC` or `SA`; empty where it is unknown.",
    "EU",
  ),
  device: parameter("device", "`mobile`, `desktop`, `tablet` or `other`.", "mobile"),
  browser: parameter("browser", "Name of the browser, or `Unknown`; case is ignored.", "Chrome"),
  os: parameter("os", "Name of the operating system, or `Unknown`; case is ignored.", "iOS"),
  referrer: parameter(
    "referrer",
    "Registrable domain of the referring page, or `direct`.",
    "example.com",
  ),
  referrer_path: parameter("referrer_path", "Path of the referring page.", "/news"),
  language: parameter(
    "language",
    "Preferred language of the browser, without a region; empty where it is unknown.",
    "de",
  ),
  host: parameter("host", "Short domain that was visited.", "short.example.com"),
  utm_source: parameter("utm_source", "`utm_source` of the click.", "newsletter"),
  utm_medium: parameter("utm_medium", "`utm_medium` of the click.", "email"),
  utm_campaign: parameter("utm_campaign", "`utm_campaign` of the click.", "summer"),
  utm_term: parameter("utm_term", "`utm_term` of the click.", "shoes"),
  utm_content: parameter("utm_content", "`utm_content` of the click.", "header"),
  tag: parameter("tag", "A tag that the link has now.", "spring"),
  domain: parameter(
    "domain",
    "Domain of the link: one of the account, or the service's own.",
    "go.example.com",
  ),
  class: parameter(
    "class",
    "`human`, `bot` or `prefetch`: which clicks are counted. Only people's by default.",
    "human",
  ),
} satisfies Record<FilterName, z.ZodType>;

export type FilterQuery = Partial<Record<FilterName, Values | undefined>>;
