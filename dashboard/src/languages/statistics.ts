/** The language of the page for the components that pages of shared statistics have, too. */
import type { StatisticsLanguage } from "../../../shared/statistics/language.ts";
import { getLanguage, perLanguage, t } from "./translate.ts";

/** The same object until the language changes. */
export const statisticsLanguage = perLanguage((): StatisticsLanguage => ({
  tag: getLanguage(),
  translate: (text, values) => t(`statistics.${text}`, values),
}));
