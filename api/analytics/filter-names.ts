/** The filters of analytics by name. */

/** Filters by a column of `clicks`. */
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
  "utm_source",
  "utm_medium",
  "utm_campaign",
  "utm_term",
  "utm_content",
] as const;

export type ColumnFilter = (typeof COLUMN_FILTERS)[number];

/** Filters by a property of a click's link, which PostgreSQL stores. */
export const LINK_FILTERS = ["tag", "domain"] as const;

export const FILTERS = [...COLUMN_FILTERS, ...LINK_FILTERS, "class"] as const;

export type FilterName = (typeof FILTERS)[number];

/** Classes of clicks; only human clicks are counted unless the filter `class` says otherwise. */
export const CLASSES = ["human", "bot", "prefetch"] as const;
