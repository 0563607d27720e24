/** The language of the components: its tag, for the formats of `Intl`, and its texts. */
import { createContext, useContext } from "react";

import type english from "../languages/statistics/en.json";

/** The texts of the components in a language, by key, as ICU messages. */
export type StatisticsTexts = typeof english;

export type StatisticsText = keyof StatisticsTexts;

export type StatisticsLanguage = {
  /** Such as `en`. */
  tag: string;
  translate: (text: StatisticsText, values?: Readonly<Record<string, string | number>>) => string;
};

export const StatisticsLanguageContext = createContext<StatisticsLanguage | undefined>(undefined);

/** The language of the components within a {@link StatisticsLanguageContext}. */
export function useStatisticsLanguage(): StatisticsLanguage {
  const language = useContext(StatisticsLanguageContext);
  if (language === undefined) throw new Error("The statistics have no language.");
  return language;
}
