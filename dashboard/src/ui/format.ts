/** Formats numbers, dates and names for display, in English. */
import { formatCount } from "../../../shared/statistics/format.ts";

export { countryName, formatCount, formatPercent } from "../../../shared/statistics/format.ts";

const dates = new Intl.DateTimeFormat("en", { dateStyle: "medium" });
const dateTimes = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "short" });

export const formatDate = (instant: string): string => dates.format(new Date(instant));

export const formatDateTime = (instant: string): string => dateTimes.format(new Date(instant));

/** Units of an age, from the largest, in seconds. A month has 30 days. */
const AGE_UNITS = [
  ["year", 365 * 86_400],
  ["month", 30 * 86_400],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
] as const;

const ages = new Intl.RelativeTimeFormat("en", { style: "narrow" });
const now = new Intl.RelativeTimeFormat("en", { numeric: "auto" }).format(0, "second");

/** `3h ago`, in whole units; `now` in the first minute, and for an instant ahead of this device's clock. */
export function formatAge(instant: string, nowMs: number): string {
  const seconds = (nowMs - Date.parse(instant)) / 1_000;
  const unit = AGE_UNITS.find(([, length]) => seconds >= length);
  return unit === undefined ? now : ages.format(-Math.floor(seconds / unit[1]), unit[0]);
}

/** `1 link`, `2 links`. */
export const pluralize = (value: number, noun: string): string =>
  `${formatCount(value)} ${noun}${value === 1 ? "" : "s"}`;

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
      ? `${formatCount(Math.round(now / before))} ×`
      : `${Math.abs(percent)} %`;
  return { direction, text };
}
