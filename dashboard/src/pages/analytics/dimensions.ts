/** The dimensions of breakdowns: their names, and how their values are displayed and filtered. */
import { languageName } from "../../../../shared/contracts/language-name.ts";
import { readableHost } from "../../../../shared/contracts/readable-host.ts";
import { countryName } from "../../ui/format.ts";
import { capitalize } from "../../ui/validation.ts";
import { type Filter, FILTER_LABELS, type FilterName, only } from "./filters.ts";

/** A filter's name; or `link`, which is not a filter. */
export type Dimension = Exclude<FilterName, "class"> | "link";

export const dimensionLabel = (dimension: Dimension): string =>
  dimension === "link" ? "Link" : FILTER_LABELS[dimension];

const CONTINENTS: Readonly<Record<string, string>> = {
  AF: "Africa",
  AN: "Antarctica",
  AS: "Asia",
  EU: "Europe",
  NA: "North America",
  OC: "Oceania",
  SA: "South America",
};

const CLASSES: Readonly<Record<string, string>> = {
  human: "people",
  bot: "bots",
  prefetch: "prefetches",
};

/** Dimensions whose values are host names. */
const HOSTS: ReadonlySet<FilterName | "link"> = new Set(["referrer", "host", "domain"]);

/** Returns the displayed text of a value. */
export function describeValue(name: FilterName | "link", value: string): string {
  if (name === "class") return CLASSES[value] ?? value;
  if (value === "") return name.startsWith("utm_") || name === "referrer_path" ? "None" : "Unknown";
  if (name === "country") return value === "ZZ" ? "Unknown" : countryName(value);
  if (name === "continent") return CONTINENTS[value] ?? value;
  if (name === "device") return capitalize(value);
  if (name === "language") return languageName(value);
  if (name === "referrer" && value === "direct") return "Direct";
  return HOSTS.has(name) ? readableHost(value) : value;
}

/**
 * The values of a row by column; those of regions and cities include the enclosing country and
 * region.
 */
export type Values = Readonly<Record<string, string>>;

/** The filters that select the clicks of a row; none for links, which have their own page. */
export const filtersOf = (values: Values): Filter[] =>
  Object.entries(values).flatMap(([name, value]) =>
    isFilterName(name) ? [only(name, value)] : [],
  );

/** Whether a name is that of a filter. */
export const isFilterName = (name: string): name is FilterName => name in FILTER_LABELS;

/** The enclosing region and country of a region or city. */
export function describePlace(values: Values): string {
  const { country, region, city } = values;
  if (country === undefined || (region === undefined && city === undefined)) return "";
  return [city === undefined ? "" : (region ?? ""), describeValue("country", country)]
    .filter(Boolean)
    .join(", ");
}
