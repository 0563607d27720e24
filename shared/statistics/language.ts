/** The language of the components: its tag, for the formats of `Intl`, and its texts. */
import { createContext } from "react";

/** The texts in English, by key. Placeholders stand for values that are formatted already. */
export const ENGLISH_TEXTS = {
  clicks: "Clicks",
  unique: "Unique visitors",
  perDay: "Clicks per day",
  bots: "Bots (not counted)",
  clicksBefore: "Clicks before",
  date: "Date",
  before: "Before",
  point: "{date}: {clicks} clicks, {unique} unique",
  pointSoFar: "{date} so far: {clicks} clicks, {unique} unique",
  soFar: "{date} (so far)",
  percent: "{value} %",
  noClicks: "No clicks in this period.",
  map: "Map of clicks by country; the list next to it has the numbers.",
  mapScale: "Clicks by shade",
  fewer: "fewer",
  clicksOf: "{name}: {clicks} clicks",
  unknown: "Unknown",
  none: "None",
  direct: "Direct",
  people: "people",
  botClass: "bots",
  prefetches: "prefetches",
  africa: "Africa",
  antarctica: "Antarctica",
  asia: "Asia",
  europe: "Europe",
  northAmerica: "North America",
  oceania: "Oceania",
  southAmerica: "South America",
  mobile: "Mobile",
  desktop: "Desktop",
  tablet: "Tablet",
  other: "Other",
} as const;

export type StatisticsText = keyof typeof ENGLISH_TEXTS;

export type StatisticsLanguage = {
  /** Such as `en`. */
  tag: string;
  translate: (text: StatisticsText, values?: Readonly<Record<string, string>>) => string;
};

export const ENGLISH: StatisticsLanguage = {
  tag: "en",
  translate: (text, values = {}) =>
    ENGLISH_TEXTS[text].replaceAll(/\{(\w+)\}/g, (_, name: string) => values[name] ?? ""),
};

/** The language of the components within; English by default. */
export const StatisticsLanguageContext = createContext(ENGLISH);
