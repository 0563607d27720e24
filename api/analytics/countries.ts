/** Country codes, by Unicode CLDR. */

/** The name of an unknown country. */
export const UNKNOWN = "Unknown";

/** The code of an unknown country. */
export const UNKNOWN_COUNTRY = "ZZ";

const names = new Intl.DisplayNames(["en"], { type: "region", fallback: "none" });

/** The English name of a two-letter country code; `Unknown` for ZZ. */
export const countryName = (code: string): string =>
  code === UNKNOWN_COUNTRY ? UNKNOWN : (names.of(code) ?? code);

/** Common codes that differ from ISO 3166-1. */
const ALIASES: Readonly<Record<string, string>> = { UK: "GB", EL: "GR" };

/** Returns the code of a country in upper case; undefined when there is no such country. */
export function parseCountry(text: string): string | undefined {
  const code = text.toUpperCase();
  const country = ALIASES[code] ?? code;
  return /^[A-Z]{2}$/.test(country) && names.of(country) !== undefined ? country : undefined;
}
