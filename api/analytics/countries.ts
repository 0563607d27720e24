/** Names of countries, by Unicode CLDR, and their codes in filters. */
import { isCountry, replacementOf, UNKNOWN_COUNTRY } from "../../shared/countries.ts";

/** The name of an unknown country. */
export const UNKNOWN = "Unknown";

const names = new Intl.DisplayNames(["en"], { type: "region", fallback: "none" });

/** The English name of a two-letter country code; `Unknown` for ZZ. */
export const countryName = (code: string): string =>
  code === UNKNOWN_COUNTRY ? UNKNOWN : (names.of(code) ?? code);

/** Returns the code of a country in upper case, `ZZ` included; undefined when there is no such country. */
export function parseCountry(text: string): string | undefined {
  const code = text.toUpperCase();
  const country = replacementOf(code) ?? code;
  return isCountry(country) || country === UNKNOWN_COUNTRY ? country : undefined;
}
