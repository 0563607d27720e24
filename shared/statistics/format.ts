/** Formats numbers, dates of a time axis and countries for display. A language is its tag, such as `en`. */

/** Returns a function that creates a formatter once for each language: those that have texts are few. */
function perLanguage<Formatter>(create: (language: string) => Formatter) {
  const created = new Map<string, Formatter>();
  return (language: string): Formatter => {
    const formatter = created.get(language) ?? create(language);
    created.set(language, formatter);
    return formatter;
  };
}

const wholeNumber = perLanguage((language) => new Intl.NumberFormat(language));
const compactNumber = perLanguage(
  (language) => new Intl.NumberFormat(language, { notation: "compact", maximumFractionDigits: 1 }),
);
const tenths = perLanguage(
  (language) =>
    new Intl.NumberFormat(language, { minimumFractionDigits: 1, maximumFractionDigits: 1 }),
);
const monthDay = perLanguage(
  (language) =>
    new Intl.DateTimeFormat(language, { month: "short", day: "numeric", timeZone: "UTC" }),
);
const regions = perLanguage((language) => new Intl.DisplayNames(language, { type: "region" }));

export const formatCount = (value: number, language = "en"): string =>
  wholeNumber(language).format(value);

/** `1.2K`. */
export const formatCompact = (value: number, language = "en"): string =>
  compactNumber(language).format(value);

/** A number with one decimal: `12.0`. */
export const formatTenths = (value: number, language = "en"): string =>
  tenths(language).format(value);

/** Formats the date of a point: the time for an hour (`2026-01-31T13:00`), else month and day. */
export const formatPointDate = (date: string, language = "en"): string =>
  date.includes("T") ? date.slice(11) : monthDay(language).format(new Date(`${date}T00:00:00Z`));

/** Returns the name of a country by its ISO 3166-1 alpha-2 code; other text unchanged. */
export function countryName(code: string, language = "en"): string {
  try {
    return /^[A-Z]{2}$/.test(code) ? (regions(language).of(code) ?? code) : code;
  } catch {
    return code;
  }
}
