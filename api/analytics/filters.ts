/**
 * Filters of analytics: which clicks are counted. Several values of one filter are alternatives,
 * and all filters must match. Values are parsed into the form that clicks store, ignoring letter
 * case; one that no click can have is rejected, because it would silently count nothing.
 */
import type * as z from "zod";

import { browserName, systemName } from "../../shared/agent-names.ts";
import { COLUMN_FILTERS, IMPORTED, ofEachUtm, TRIGGERS } from "../../shared/contracts/analytics.ts";
import { toAsciiHost, toReferringSite } from "../../shared/contracts/host-names.ts";
import { CONTINENTS, DEVICES } from "../../shared/contracts/link-rules.ts";
import { composeLetters, composeTrimmed } from "../../shared/contracts/text.ts";
import { isCountry, replacementOf, UNKNOWN_COUNTRY } from "../../shared/countries.ts";
import { normalizeHost } from "../../shared/hosts.ts";
import { ApiError } from "../http/errors.ts";
import { FILTER_VALUES_MAX, filterParameter, type Values } from "../http/query.ts";

export type ColumnFilter = (typeof COLUMN_FILTERS)[number];

/** Properties of a click's link, which PostgreSQL stores. */
export const LINK_PROPERTIES = ["tag", "domain"] as const;

export type LinkProperty = (typeof LINK_PROPERTIES)[number];

const FILTERS = [...COLUMN_FILTERS, ...LINK_PROPERTIES, "class"] as const;

type FilterName = (typeof FILTERS)[number];

/** Classes of clicks; only human clicks are counted unless the filter `class` says otherwise. */
const CLASSES = ["human", "bot", "prefetch"] as const;

type ClickClass = (typeof CLASSES)[number];

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
  trigger: parameter("trigger", "`link` or `qr`: whether a QR code was scanned.", "qr"),
  imported: parameter(
    "imported",
    "`yes` or `no`: whether it is a visit of another product, which was imported.",
    "no",
  ),
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

/** The filters of a request, with the values in their stored form. */
export type FilterQuery = Partial<Record<FilterName, Values | undefined>>;

export type Filters = {
  columns: ReadonlyMap<ColumnFilter, Values>;
  links: Record<LinkProperty, Values>;
  classes: readonly ClickClass[];
};

const NO_VALUES: Values = { anyOf: [], noneOf: [] };

/** Counts clicks of every class. */
export const EVERY_CLASS: Values = { anyOf: [...CLASSES], noneOf: [] };

/** Groups the filters of a query. Throws `invalid_request` for too many values. */
export function groupFilters(query: FilterQuery): Filters {
  const count = FILTERS.reduce((sum, name) => {
    const { anyOf, noneOf } = query[name] ?? NO_VALUES;
    return sum + anyOf.length + noneOf.length;
  }, 0);
  if (count > FILTER_VALUES_MAX) {
    throw new ApiError(
      "invalid_request",
      `The filters have too many values: ${FILTER_VALUES_MAX} at most.`,
    );
  }
  return {
    columns: new Map(
      COLUMN_FILTERS.flatMap((name): [ColumnFilter, Values][] => {
        const found = query[name];
        return found === undefined ? [] : [[name, found]];
      }),
    ),
    links: { tag: query.tag ?? NO_VALUES, domain: query.domain ?? NO_VALUES },
    classes: toClasses(query.class),
  };
}

function toClasses(values: Values | undefined): readonly ClickClass[] {
  if (values === undefined) return ["human"];
  const { anyOf, noneOf } = values;
  return CLASSES.filter(
    (name) => (anyOf.length === 0 || anyOf.includes(name)) && !noneOf.includes(name),
  );
}

/** A click's values in the columns that filters compare. */
export type ClickValues = Partial<Record<ColumnFilter | "class", string>>;

/** Whether a click with these values passes the filters by column and class. */
export function matchesFilters({ columns, classes }: Filters, click: ClickValues): boolean {
  return (
    (classes as readonly string[]).includes(click.class ?? "") &&
    [...columns].every(([column, { anyOf, noneOf }]) => {
      const stored = click[column] ?? "";
      const value = CASELESS.has(column) ? lowerAscii(stored) : stored;
      return (anyOf.length === 0 || anyOf.includes(value)) && !noneOf.includes(value);
    })
  );
}

type Vocabulary = {
  /** Returns the value in its stored form; undefined for one that no click can have. */
  parse: (text: string) => string | undefined;
  /** What is wrong with any other one. */
  problem: string;
};

const isUnknown = (text: string): boolean =>
  text === "" || text.toLowerCase() === UNKNOWN.toLowerCase();

/** Parses text; maps `unknown` to the stored value for absent text. */
const orUnknown =
  (unknown: string, parse: Vocabulary["parse"]): Vocabulary["parse"] =>
  (text) =>
    isUnknown(text) ? unknown : parse(text);

const oneOf =
  (values: readonly string[]): Vocabulary["parse"] =>
  (text) =>
    values.find((value) => value.toLowerCase() === text.toLowerCase());

/** Accepts any text: the possible values cannot be listed. */
const free = (parse: (text: string) => string): Vocabulary => ({
  parse,
  problem: "must be a text",
});

/** Lower-cases ASCII letters only, as ClickHouse's `lower` does. */
const lowerAscii = (text: string): string =>
  text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());

/**
 * Columns that are compared ignoring case, as rules do: user agents spell their names in several
 * ways.
 */
export const CASELESS: ReadonlySet<string> = new Set(["browser", "os"] satisfies FilterName[]);

const agent = (toName: (text: string) => string): Vocabulary =>
  free((text) => lowerAscii(text === "" ? UNKNOWN : toName(text)));

const host: Vocabulary = {
  parse(text) {
    const name = toAsciiHost(text);
    const url = /^[^\s/\\?#@]+$/.test(name) ? URL.parse(`http://${name}`) : null;
    return url === null ? undefined : normalizeHost(url.host);
  },
  problem: "must be a host without scheme and path, such as go.example.com",
};

const utm: Vocabulary = free(composeTrimmed);

const VOCABULARIES: Readonly<Record<FilterName, Vocabulary>> = {
  country: {
    parse: orUnknown(UNKNOWN_COUNTRY, parseCountry),
    problem: `must be an ISO 3166-1 code of two letters such as DE, or ${UNKNOWN_COUNTRY} where it is unknown`,
  },
  continent: {
    parse: orUnknown("", oneOf(CONTINENTS)),
    problem: `must be one of ${CONTINENTS.join(", ")}, or empty where it is unknown`,
  },
  // ISO 3166-2 codes where the GeoIP data have them, else names.
  region: free((text) => {
    if (isUnknown(text)) return "";
    return /^[a-z]{2}-[a-z0-9]{1,3}$/.test(text) ? text.toUpperCase() : composeLetters(text);
  }),
  city: free((text) => (isUnknown(text) ? "" : composeLetters(text))),
  tag: free(composeTrimmed),
  device: { parse: oneOf(DEVICES), problem: `must be one of ${DEVICES.join(", ")}` },
  browser: agent(browserName),
  os: agent(systemName),
  referrer: free((text) => toReferringSite(text) || "direct"),
  referrer_path: free((text) => (text === "/" ? "" : text)),
  language: {
    parse: orUnknown("", (text) => (/^[a-z]{2,3}$/i.test(text) ? text.toLowerCase() : undefined)),
    problem: "must be a language of two or three letters such as de, or empty where it is unknown",
  },
  host,
  domain: host,
  trigger: { parse: oneOf(TRIGGERS), problem: `must be one of ${TRIGGERS.join(", ")}` },
  imported: { parse: oneOf(IMPORTED), problem: `must be one of ${IMPORTED.join(", ")}` },
  ...ofEachUtm(() => utm),
  class: { parse: oneOf(CLASSES), problem: `must be one of ${CLASSES.join(", ")}` },
};

/** Returns the stored form of a value, or what is wrong with it. */
export function parseFilterValue(
  name: FilterName,
  text: string,
): { value: string } | { problem: string } {
  const { parse, problem } = VOCABULARIES[name];
  const value = parse(text);
  return value === undefined ? { problem } : { value };
}

/** Columns whose empty text is shown and filtered as `Unknown`. */
const SHOWN_AS_UNKNOWN: ReadonlySet<string> = new Set(["region", "city"] satisfies FilterName[]);

/** The text that clients see for a stored value. */
export const toShownValue = (column: string, value: string): string =>
  value === "" && SHOWN_AS_UNKNOWN.has(column) ? UNKNOWN : value;

/** The name of an unknown country. */
export const UNKNOWN = "Unknown";

const names = new Intl.DisplayNames(["en"], { type: "region", fallback: "none" });

/** The English name of a two-letter country code; `Unknown` for ZZ. */
export const countryName = (code: string): string =>
  code === UNKNOWN_COUNTRY ? UNKNOWN : (names.of(code) ?? code);

/**
 * Returns the code of a country in upper case, `ZZ` included; undefined when there is no such
 * country.
 */
function parseCountry(text: string): string | undefined {
  const code = text.toUpperCase();
  const country = replacementOf(code) ?? code;
  return isCountry(country) || country === UNKNOWN_COUNTRY ? country : undefined;
}
