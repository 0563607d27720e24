/** The types of conditions: their names, and the form of their values. */
import { ENGLISH } from "../../../../shared/statistics/language.ts";
import { CONTINENTS } from "../../../../shared/statistics/values.ts";
import type { ConditionType } from "./draft.ts";

type TypeInfo = {
  label: string;
  /** The possible values, if there are few. */
  options?: Readonly<Record<string, string>>;
  /** An example of the values, separated by commas. */
  example?: string;
};

const CONTINENT_NAMES = Object.fromEntries(
  Object.entries(CONTINENTS).map(([code, text]) => [code, ENGLISH.translate(text)]),
);

export const CONDITION_TYPES: Readonly<Record<ConditionType, TypeInfo>> = {
  device: {
    label: "Device",
    options: { mobile: "Mobile", desktop: "Desktop", tablet: "Tablet", other: "Other" },
  },
  os: { label: "System", example: "iOS, Android" },
  browser: { label: "Browser", example: "Firefox, Safari" },
  country: { label: "Country", example: "DE, AT" },
  continent: { label: "Continent", options: CONTINENT_NAMES },
  language: { label: "Language", example: "de, pt-BR" },
  referrer: { label: "Referrer", example: "example.com, direct" },
  query: { label: "Query parameter" },
  ip: { label: "IP address", example: "203.0.113.0/24" },
  time: { label: "Date" },
  schedule: { label: "Weekdays and hours" },
};

export const WEEKDAYS: Readonly<Record<string, string>> = {
  1: "Mon",
  2: "Tue",
  3: "Wed",
  4: "Thu",
  5: "Fri",
  6: "Sat",
  7: "Sun",
};
