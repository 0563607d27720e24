/**
 * Terms of analytics: columns of clicks, weekdays, periods, and reasons of failed requests. Imports
 * nothing, because the first script of the dashboard has them.
 */

export const UTM_NAMES = [
  "utm_source",
  "utm_medium",
  "utm_campaign",
  "utm_term",
  "utm_content",
] as const;

export type UtmName = (typeof UTM_NAMES)[number];

/** An object with a value for each UTM parameter. */
export const ofEachUtm = <Value>(valueOf: (name: UtmName) => Value): Record<UtmName, Value> =>
  // Object.fromEntries loses the type of the names.
  Object.fromEntries(UTM_NAMES.map((name) => [name, valueOf(name)])) as Record<UtmName, Value>;

/** A click comes from the short URL as a link, or from its QR code. */
export const TRIGGERS = ["link", "qr"] as const;

/** Whether a click came with an import, or was a redirect here. */
export const IMPORTED = ["no", "yes"] as const;

/**
 * The parameter, without a value, that a QR code has after the short URL. Redirectors take it off
 * the query of a request before anything reads that.
 */
export const QR_MARK = "_qr";

/** The columns of clicks by which they are filtered. */
export const COLUMN_FILTERS = [
  "country",
  "region",
  "city",
  "continent",
  "device",
  "browser",
  "os",
  "referrer",
  "referrer_path",
  "language",
  "host",
  "trigger",
  "imported",
  ...UTM_NAMES,
] as const;

/** The columns of a click besides its id, its time and its link, in the order of its fields. */
export const CLICK_COLUMNS = ["class", "class_reason", ...COLUMN_FILTERS, "region_name"] as const;

/** The days of a week, as the API names them. */
export const WEEKDAYS = [
  "Monday",
  "Tuesday",
  "Wednesday",
  "Thursday",
  "Friday",
  "Saturday",
  "Sunday",
] as const;

export const PERIODS = ["24h", "7d", "30d", "90d", "all"] as const;

export type Period = (typeof PERIODS)[number];

export const DEFAULT_PERIOD = "30d" satisfies Period;

/** Why a link does not redirect. */
export const LINK_FAILURES = [
  "expired",
  "limit_reached",
  "wrong_password",
  "disabled",
  "not_started",
] as const;

export type LinkFailure = (typeof LINK_FAILURES)[number];

/** Why a request fails: its alias has no link, or the link does not redirect. */
export const FAILURE_REASONS = ["unknown_alias", ...LINK_FAILURES] as const;
