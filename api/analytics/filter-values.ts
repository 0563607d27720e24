/**
 * Parses the values of analytics filters into the form that clicks store, ignoring letter case.
 * Rejects a value that no click can have, because it would silently count nothing.
 */
import { toAsciiHost, toReferringSite } from "../../shared/contracts/ascii-host.ts";
import { CONTINENTS, DEVICES } from "../../shared/contracts/link-rules.ts";
import { toUtmValue } from "../../shared/contracts/utm.ts";
import { UNKNOWN_COUNTRY } from "../../shared/countries.ts";
import { normalizeHost } from "../../shared/hosts.ts";
import { parseCountry, UNKNOWN } from "./countries.ts";
import { CLASSES, type FilterName } from "./filter-names.ts";

type Vocabulary = {
  /** Returns the value in its stored form; undefined for one that no click can have. */
  parse: (text: string) => string | undefined;
  /** Describes valid values, for error messages. */
  expected: string;
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
const free = (parse: (text: string) => string): Vocabulary => ({ parse, expected: "a text" });

/** Lower-cases ASCII letters only, as ClickHouse's `lower` does. */
export const lowerAscii = (text: string): string =>
  text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());

/**
 * Columns that are compared ignoring case, as rules do: user agents spell their names in several
 * ways.
 */
export const CASELESS: ReadonlySet<string> = new Set(["browser", "os"] satisfies FilterName[]);

const agentName: Vocabulary = free((text) => lowerAscii(text === "" ? UNKNOWN : text));

const host: Vocabulary = {
  parse(text) {
    const name = toAsciiHost(text);
    const url = /^[^\s/\\?#@]+$/.test(name) ? URL.parse(`http://${name}`) : null;
    return url === null ? undefined : normalizeHost(url.host);
  },
  expected: "a host without scheme and path, such as go.example.com",
};

const utm: Vocabulary = free(toUtmValue);

/** Filters whose values are parsed; the others are compared as given. */
const VOCABULARIES: Readonly<Partial<Record<FilterName, Vocabulary>>> = {
  country: {
    parse: orUnknown(UNKNOWN_COUNTRY, parseCountry),
    expected: `an ISO 3166-1 code of two letters such as DE, or ${UNKNOWN_COUNTRY} where it is unknown`,
  },
  continent: {
    parse: orUnknown("", oneOf(CONTINENTS)),
    expected: `one of ${CONTINENTS.join(", ")}, or empty where it is unknown`,
  },
  // ISO 3166-2 codes where the GeoIP data have them, else names.
  region: free((text) => {
    if (isUnknown(text)) return "";
    return /^[a-z]{2}-[a-z0-9]{1,3}$/.test(text) ? text.toUpperCase() : text;
  }),
  city: free((text) => (isUnknown(text) ? "" : text)),
  device: { parse: oneOf(DEVICES), expected: `one of ${DEVICES.join(", ")}` },
  browser: agentName,
  os: agentName,
  referrer: free((text) => toReferringSite(text) || "direct"),
  referrer_path: free((text) => (text === "/" ? "" : text)),
  language: {
    parse: orUnknown("", (text) => (/^[a-z]{2,3}$/i.test(text) ? text.toLowerCase() : undefined)),
    expected: "a language of two or three letters such as de, or empty where it is unknown",
  },
  host,
  domain: host,
  utm_source: utm,
  utm_medium: utm,
  utm_campaign: utm,
  utm_term: utm,
  utm_content: utm,
  class: { parse: oneOf(CLASSES), expected: `one of ${CLASSES.join(", ")}` },
};

/** Returns the stored form of a value, or a description of valid values. */
export function parseFilterValue(
  name: FilterName,
  text: string,
): { value: string } | { expected: string } {
  const vocabulary = VOCABULARIES[name];
  const value = vocabulary === undefined ? text : vocabulary.parse(text);
  return value === undefined ? { expected: vocabulary?.expected ?? "" } : { value };
}

/** Columns whose empty text is shown and filtered as `Unknown`. */
const SHOWN_AS_UNKNOWN: ReadonlySet<string> = new Set(["region", "city"] satisfies FilterName[]);

/** The text that clients see for a stored value. */
export const toShownValue = (column: string, value: string): string =>
  value === "" && SHOWN_AS_UNKNOWN.has(column) ? UNKNOWN : value;
