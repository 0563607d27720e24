/** The types of conditions: their names, and the form of their values. */
import { CONTINENTS } from "../../../../shared/statistics/values.ts";
import type { TextKey } from "../../languages/catalogues.ts";
import type { ConditionType } from "./draft.ts";

type TypeInfo = {
  label: TextKey;
  /** The possible values, if there are few, with their labels. */
  options?: Readonly<Record<string, TextKey>>;
  /** An example of the values, separated by commas. */
  example?: string;
};

const CONTINENT_LABELS: Readonly<Record<string, TextKey>> = Object.fromEntries(
  Object.entries(CONTINENTS).map(([code, text]) => [code, `statistics.${text}` as const]),
);

export const CONDITION_TYPES: Readonly<Record<ConditionType, TypeInfo>> = {
  device: {
    label: "analytics.dimensions.device",
    options: {
      mobile: "statistics.mobile",
      desktop: "statistics.desktop",
      tablet: "statistics.tablet",
      other: "statistics.other",
    },
  },
  os: { label: "analytics.dimensions.system", example: "iOS, Android" },
  browser: { label: "analytics.dimensions.browser", example: "Firefox, Safari" },
  country: { label: "analytics.dimensions.country", example: "DE, AT" },
  continent: { label: "analytics.dimensions.continent", options: CONTINENT_LABELS },
  language: { label: "analytics.dimensions.language", example: "de, pt-br" },
  referrer: { label: "analytics.dimensions.referrer", example: "example.com, direct" },
  query: { label: "rules.types.query" },
  ip: { label: "rules.types.ip", example: "203.0.113.0/24" },
  time: { label: "rules.types.time" },
  schedule: { label: "rules.types.schedule" },
};
