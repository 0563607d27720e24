/** Formats numbers, dates and names for display, in the language of the page. */
import * as format from "../../../shared/statistics/format.ts";
import { getLanguage, perLanguage, t } from "../languages/translate.ts";

const dates = perLanguage((language) => new Intl.DateTimeFormat(language, { dateStyle: "medium" }));
const dateTimes = perLanguage(
  (language) => new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" }),
);
const times = perLanguage((language) => new Intl.DateTimeFormat(language, { timeStyle: "medium" }));
const weekdays = perLanguage((language) => ({
  long: new Intl.DateTimeFormat(language, { weekday: "long", timeZone: "UTC" }),
  short: new Intl.DateTimeFormat(language, { weekday: "short", timeZone: "UTC" }),
}));

export const formatDate = (instant: string): string => dates().format(new Date(instant));

export const formatDateTime = (instant: string): string => dateTimes().format(new Date(instant));

/** The time of day, with seconds. */
export const formatTime = (instant: Date): string => times().format(instant);

/** The name of a weekday, from 0 for Monday. */
export const formatWeekday = (day: number, style: "long" | "short"): string =>
  // 2024 began with a Monday.
  weekdays()[style].format(Date.UTC(2024, 0, 1 + day));

export const formatCount = (value: number): string => format.formatCount(value, getLanguage());

/** `12.3 %`. */
export const formatPercent = (value: number): string =>
  t("statistics.percent", { value: format.formatTenths(value, getLanguage()) });

/** `Jan 31` or `13:00`: see the function of the same name of the shared components. */
export const formatPointDate = (date: string): string =>
  format.formatPointDate(date, getLanguage());

/** The name of a country by its ISO 3166-1 alpha-2 code; other text unchanged. */
export const countryName = (code: string): string => format.countryName(code, getLanguage());

/** A title within a sentence: without its capital, but in German, and for an abbreviation. */
export const inSentence = (title: string): string =>
  getLanguage() === "de"
    ? title
    : title.replace(/^\p{Lu}(?!\p{Lu})/u, (first) => first.toLocaleLowerCase(getLanguage()));

/** Units of an age, from the largest, in seconds. A month has 30 days. */
const AGE_UNITS = [
  ["year", 365 * 86_400],
  ["month", 30 * 86_400],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
] as const;

const ages = perLanguage((language) => new Intl.RelativeTimeFormat(language, { style: "narrow" }));
const nows = perLanguage((language) =>
  new Intl.RelativeTimeFormat(language, { numeric: "auto" }).format(0, "second"),
);

/**
 * `3h ago`, in whole units; `now` in the first minute, and for an instant ahead of this device's
 * clock.
 */
export function formatAge(instant: string, nowMs: number): string {
  const seconds = (nowMs - Date.parse(instant)) / 1_000;
  const unit = AGE_UNITS.find(([, length]) => seconds >= length);
  return unit === undefined ? nows() : ages().format(-Math.floor(seconds / unit[1]), unit[0]);
}

export type Direction = "up" | "down" | "none";

type Change = { direction: Direction; text: string };

/**
 * From this factor on, an increase is displayed as a factor: `151 ×` is readable, `+15093 %` is
 * not.
 */
const FACTOR_MIN = 10;

/** Describes the change from one number to another; undefined when the first is 0. */
export function describeChange(before: number, now: number): Change | undefined {
  if (before === 0) return undefined;
  const percent = Math.round(((now - before) / before) * 100);
  const direction = percent === 0 ? "none" : percent > 0 ? "up" : "down";
  const text =
    now / before >= FACTOR_MIN
      ? t("ui.factor", { value: formatCount(Math.round(now / before)) })
      : t("statistics.percent", { value: formatCount(Math.abs(percent)) });
  return { direction, text };
}
