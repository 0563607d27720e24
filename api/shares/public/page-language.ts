/** The languages of the pages of shared statistics, and which of them a reader gets. */
import { directionOf } from "../../../shared/contracts/languages.ts";
import {
  type Catalogue,
  CATALOGUES,
  inEachLanguage,
  LanguageChoice,
} from "../../../shared/languages/catalogues.ts";
import { type Texts, textsOf } from "../../../shared/languages/messages.ts";
import type { StatisticsLanguage } from "../../../shared/statistics/language.ts";

export type PageLanguage = {
  /** Such as `de`. */
  code: string;
  direction: "ltr" | "rtl";
  texts: Texts<Catalogue["shares"]>;
  /** The language of the components that the dashboard has as well. */
  statistics: StatisticsLanguage;
};

/** Creates a language from its catalogue. */
export function createPageLanguage(code: string, { shares, statistics }: Catalogue): PageLanguage {
  const texts = textsOf(code, statistics);
  return {
    code,
    direction: directionOf(code),
    texts: textsOf(code, shares),
    statistics: { tag: code, translate: (text, values) => texts[text](values) },
  };
}

const languageOf = inEachLanguage(createPageLanguage);

const languages = new LanguageChoice(Object.keys(CATALOGUES));

/** Returns the language of the page for a reader, by the header `Accept-Language`; "" for none. */
export const pageLanguageOf = (header: string): PageLanguage =>
  languageOf(languages.choose(header));
