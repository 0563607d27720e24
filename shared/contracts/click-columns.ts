/** What a click has, as clients see it: in its list, in its events and in filters. */
import { UTM_NAMES } from "./utm.ts";

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
  ...UTM_NAMES,
] as const;

/** The columns of a click besides its id, its time and its link, in the order of its fields. */
export const CLICK_COLUMNS = ["class", "class_reason", ...COLUMN_FILTERS, "region_name"] as const;
