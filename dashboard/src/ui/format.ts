/** Numbers and times as people read them. */

const whole = new Intl.NumberFormat("en");
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

export const count = (value: number): string => whole.format(value);

export const compact = (value: number): string => short.format(value);

export const percent = (value: number): string => `${value.toFixed(1)} %`;

const days = new Intl.DateTimeFormat("en", { dateStyle: "medium" });
const moments = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "short" });

export const day = (instant: string): string => days.format(new Date(instant));

export const moment = (instant: string): string => moments.format(new Date(instant));

/** `1 link`, `2 links`. */
export const counted = (value: number, noun: string): string =>
  `${count(value)} ${noun}${value === 1 ? "" : "s"}`;

/** The change from one figure to another, in whole percent; undefined when there is none to speak of. */
export const change = (before: number, now: number): number | undefined =>
  before === 0 ? undefined : Math.round(((now - before) / before) * 100);

const regions = new Intl.DisplayNames("en", { type: "region" });

/** The name of a country by its two letters; whatever else it is, as it is. */
export function countryName(code: string): string {
  try {
    return /^[A-Z]{2}$/.test(code) ? (regions.of(code) ?? code) : code;
  } catch {
    return code;
  }
}
