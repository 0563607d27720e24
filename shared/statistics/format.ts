/** Formats numbers, dates of a time axis and countries for display, in English. */

const wholeNumber = new Intl.NumberFormat("en");
const compactNumber = new Intl.NumberFormat("en", {
  notation: "compact",
  maximumFractionDigits: 1,
});

export const formatCount = (value: number): string => wholeNumber.format(value);

/** `1.2K`. */
export const formatCompact = (value: number): string => compactNumber.format(value);

export const formatPercent = (value: number): string => `${value.toFixed(1)} %`;

const monthDay = new Intl.DateTimeFormat("en", { month: "short", day: "numeric", timeZone: "UTC" });

/** Formats the date of a point: the time for an hour (`2026-01-31T13:00`), else month and day. */
export const formatPointDate = (date: string): string =>
  date.includes("T") ? date.slice(11) : monthDay.format(new Date(`${date}T00:00:00Z`));

const regions = new Intl.DisplayNames("en", { type: "region" });

/** Returns the English name of a country by its ISO 3166-1 alpha-2 code; other text unchanged. */
export function countryName(code: string): string {
  try {
    return /^[A-Z]{2}$/.test(code) ? (regions.of(code) ?? code) : code;
  } catch {
    return code;
  }
}
