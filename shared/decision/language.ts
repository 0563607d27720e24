/** The languages that a visitor accepts, and the one that the visitor prefers. */
import { cached } from "../visitors/cache.ts";

/**
 * Maximum entries of a header that are read, and parameters of an entry. Browsers send a dozen,
 * with one parameter at most.
 */
const ENTRIES_MAX = 64;
const PARAMETERS_MAX = 4;

/** A weight of RFC 9110, section 12.4.2. */
const WEIGHT = /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/;

/**
 * Returns the first language of the highest weight in `Accept-Language`, in lower case; "" when
 * there is none. Languages of lower weight do not count: browsers send `de,en-US;q=0.9` for people
 * who read German. Only the first 64 entries are read (`ENTRIES_MAX`).
 */
export function preferredLanguage(header: string): string {
  let preferred = "";
  let highest = 0;
  visitLanguages(header, (language, weight) => {
    if (weight <= highest) return;
    highest = weight;
    preferred = language;
  });
  return preferred === "*" ? "" : preferred;
}

/**
 * Calls `visit` for each of the first 64 entries of `Accept-Language` (`ENTRIES_MAX`), in order:
 * with the language, in lower case, and its weight. A weight of 0 means that the language is not
 * acceptable; an entry may have the language "".
 */
export function visitLanguages(
  header: string,
  visit: (language: string, weight: number) => void,
): void {
  for (const entry of header.split(",", ENTRIES_MAX)) {
    const [tag = "", ...parameters] = entry.split(";", 1 + PARAMETERS_MAX);
    visit(toTag(tag), weightOf(parameters));
  }
}

/** Codes that Java, and so some apps, write for those which have replaced them in ISO 639. */
const REPLACED: ReadonlyMap<string, string> = new Map([
  ["iw", "he"],
  ["in", "id"],
  ["ji", "yi"],
]);

/** A code of a language that may have been replaced, in lower case. */
export const currentCode = (code: string): string => REPLACED.get(code) ?? code;

/** A tag in lower case; systems write the underscore of their locales. */
function toTag(text: string): string {
  const tag = text.trim().toLowerCase().replaceAll("_", "-");
  const end = tag.indexOf("-");
  return end < 0 ? currentCode(tag) : currentCode(tag.slice(0, end)) + tag.slice(end);
}

/** Codes by which people mean a language of a browser as well. */
const OTHER_CODES: ReadonlyMap<string, readonly string[]> = new Map([
  ...[...REPLACED].map(([former, code]) => [code, [former]] as const),
  // Norwegian is written in two ways, of which browsers name theirs.
  ["nb", ["no"]],
  ["nn", ["no"]],
  ["no", ["nb"]],
  ["fil", ["tl"]],
  ["tl", ["fil"]],
]);

/** How Chinese is written in a country; some tags have only one of the two. */
const CHINESE: ReadonlyMap<string, string> = new Map([
  ["cn", "hans"],
  ["my", "hans"],
  ["sg", "hans"],
  ["hk", "hant"],
  ["mo", "hant"],
  ["tw", "hant"],
]);

/** Longer tags have no other names; those that browsers send are shorter. */
const NAMED_LENGTH_MAX = 35;

/** Tags whose names are cached: a link may have many conditions on the visitor's. */
const TAGS_MAX = 2_000;

/** The tags by which people mean the language of a tag, which is the first of them. */
export const namesOf = (tag: string): readonly string[] =>
  tag.length > NAMED_LENGTH_MAX ? [tag] : namesOfKnown(tag);

const namesOfKnown = cached(TAGS_MAX, (tag: string): readonly string[] => {
  const [code = "", first = "", ...rest] = tag.split("-");
  const beyond = tag.slice(code.length);
  const names = [tag, ...(OTHER_CODES.get(code) ?? []).map((other) => other + beyond)];
  if (code !== "zh") return names;
  const script = CHINESE.get(first);
  if (script !== undefined) names.push(`zh-${script}${beyond}`);
  else if (/^han[st]$/.test(first) && rest.length > 0) names.push(["zh", ...rest].join("-"));
  return names;
});

/**
 * Parses a weight. Returns 0, which makes a language not acceptable, also for an invalid weight.
 */
function weightOf(parameters: readonly string[]): number {
  const parameter = parameters.map((text) => text.trim()).find((text) => /^q\s*=/i.test(text));
  if (parameter === undefined) return 1;
  const value = parameter.slice(parameter.indexOf("=") + 1).trim();
  return WEIGHT.test(value) ? Number(value) : 0;
}
