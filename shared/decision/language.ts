/** The languages that a visitor accepts, and the one that the visitor prefers. */

/**
 * Most entries of a header that are read, and most parameters of an entry. Browsers send a dozen,
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
    visit(tag.trim().toLowerCase(), weightOf(parameters));
  }
}

/**
 * Parses a weight. Returns 0, which makes a language not acceptable, also for an invalid weight.
 */
function weightOf(parameters: readonly string[]): number {
  const parameter = parameters.map((text) => text.trim()).find((text) => /^q\s*=/i.test(text));
  if (parameter === undefined) return 1;
  const value = parameter.slice(parameter.indexOf("=") + 1).trim();
  return WEIGHT.test(value) ? Number(value) : 0;
}
