/**
 * Filters as query parameters. They select clicks by a column or by a property of their link. A
 * repeated parameter has several values. `-` before a value excludes it.
 */
import * as z from "zod";

import type { FilterName } from "./filter-names.ts";
import { parseFilterValue } from "./filter-values.ts";

/** Maximum values of all filters of one query together. */
export const FILTER_VALUES_MAX = 100;

/** Maximum characters of one value; the longest stored one is a referrer's path of 512. */
const FILTER_VALUE_LENGTH_MAX = 1_024;

const filterValue = z.string().max(FILTER_VALUE_LENGTH_MAX);

/** One of `anyOf` must match, if there are any; none of `noneOf` may match. */
export type Values = { anyOf: string[]; noneOf: string[] };

/** The end of every filter's description. */
const HOW_TO_USE =
  "Repeat it for alternatives; `-` before a value excludes it, and a backslash takes the next character as it is.";

/**
 * The query parameter of a filter, which may be repeated; its output is the values in the form that clicks store.
 */
export const filterParameter = (name: FilterName, description: string, example: string) =>
  z
    .union([filterValue, z.array(filterValue).max(FILTER_VALUES_MAX)])
    // Before the transformation, because the input is documented.
    .meta({ description: `${description} ${HOW_TO_USE}`, examples: [example] })
    .transform((given, context) => {
      const read = readValues(name, typeof given === "string" ? [given] : given);
      if (!("problem" in read)) return read;
      context.issues.push({ code: "custom", message: read.problem, input: given });
      return z.NEVER;
    })
    .optional();

/** The query parameters of all filters. */
export const filterParameters = {
  country: filterParameter(
    "country",
    "ISO 3166-1 code of the country; `ZZ` where it is unknown.",
    "DE",
  ),
  region: filterParameter(
    "region",
    "ISO 3166-2 code of the region, its name where it has no code, or `Unknown`.",
    "DE-BE",
  ),
  city: filterParameter("city", "Name of the city, or `Unknown`.", "Berlin"),
  continent: filterParameter(
    "continent",
    "`AF`, `AN`, `AS`, `EU`, `NA`, `OC` or `SA`; empty where it is unknown.",
    "EU",
  ),
  device: filterParameter("device", "`mobile`, `desktop`, `tablet` or `other`.", "mobile"),
  browser: filterParameter(
    "browser",
    "Name of the browser, or `Unknown`; case is ignored.",
    "Chrome",
  ),
  os: filterParameter("os", "Name of the operating system, or `Unknown`; case is ignored.", "iOS"),
  referrer: filterParameter(
    "referrer",
    "Registrable domain of the referring page, or `direct`.",
    "example.com",
  ),
  referrer_path: filterParameter("referrer_path", "Path of the referring page.", "/news"),
  language: filterParameter(
    "language",
    "Preferred language of the browser, without a region; empty where it is unknown.",
    "de",
  ),
  host: filterParameter("host", "Short domain that was visited.", "short.example.com"),
  utm_source: filterParameter("utm_source", "`utm_source` of the click.", "newsletter"),
  utm_medium: filterParameter("utm_medium", "`utm_medium` of the click.", "email"),
  utm_campaign: filterParameter("utm_campaign", "`utm_campaign` of the click.", "summer"),
  utm_term: filterParameter("utm_term", "`utm_term` of the click.", "shoes"),
  utm_content: filterParameter("utm_content", "`utm_content` of the click.", "header"),
  tag: filterParameter("tag", "A tag that the link has now.", "spring"),
  domain: filterParameter(
    "domain",
    "Domain of the link: one of the account, or the service's own.",
    "go.example.com",
  ),
  class: filterParameter(
    "class",
    "`human`, `bot` or `prefetch`: which clicks are counted. Only people's by default.",
    "human",
  ),
} satisfies Record<FilterName, z.ZodType>;

export type FilterQuery = Partial<Record<FilterName, Values | undefined>>;

/** A leading `-` excludes; a backslash escapes the character after it. */
function readValues(name: FilterName, texts: readonly string[]): Values | { problem: string } {
  const values: Values = { anyOf: [], noneOf: [] };
  for (const text of texts) {
    const negated = text.startsWith("-");
    const rest = negated ? text.slice(1) : text;
    const parsed = parseFilterValue(name, rest.startsWith("\\") ? rest.slice(1) : rest);
    if ("expected" in parsed) {
      const hint = text.includes(",") ? "; send several values one by one, without commas" : "";
      return { problem: `must be ${parsed.expected}${hint}` };
    }
    values[negated ? "noneOf" : "anyOf"].push(parsed.value);
  }
  return values;
}
