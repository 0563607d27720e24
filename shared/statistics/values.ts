/** How the values of a breakdown are displayed. */
import { languageName } from "../contracts/language-name.ts";
import { readableHost } from "../contracts/readable-host.ts";
import { countryName } from "./format.ts";

export const CONTINENTS: Readonly<Record<string, string>> = {
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
const HOSTS: ReadonlySet<string> = new Set(["referrer", "host", "domain"]);

/** Returns the displayed text of a value; `name` is that of its dimension or filter. */
export function describeValue(name: string, value: string): string {
  if (name === "class") return CLASSES[value] ?? value;
  if (value === "") return name.startsWith("utm_") || name === "referrer_path" ? "None" : "Unknown";
  if (name === "country") return value === "ZZ" ? "Unknown" : countryName(value);
  if (name === "continent") return CONTINENTS[value] ?? value;
  if (name === "device") return value.charAt(0).toUpperCase() + value.slice(1);
  if (name === "language") return languageName(value);
  if (name === "referrer" && value === "direct") return "Direct";
  return HOSTS.has(name) ? readableHost(value) : value;
}

/**
 * The values of a row by column; those of regions and cities include the enclosing country and
 * region.
 */
export type Values = Readonly<Record<string, string>>;

/** The enclosing region and country of a region or city. */
export function describePlace(values: Values): string {
  const { country, region, city } = values;
  if (country === undefined || (region === undefined && city === undefined)) return "";
  return [city === undefined ? "" : (region ?? ""), describeValue("country", country)]
    .filter(Boolean)
    .join(", ");
}
