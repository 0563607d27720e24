/** Descriptions of fields: by `Schema.field`, or by `field`. A description in the schema itself takes precedence. */
import { ANALYTICS_FIELDS } from "./analytics-fields.ts";
import type { Prose } from "./types.ts";

export const FIELDS: Readonly<Record<string, Prose>> = {
  ...ANALYTICS_FIELDS,
};
