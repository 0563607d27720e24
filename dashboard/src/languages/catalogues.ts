/**
 * The catalogues of the dashboard's languages: the texts by key, as ICU messages. Those of
 * statistics are from the catalogues of the pages that show them as well.
 */
import { languageName } from "../../../shared/contracts/languages.ts";
import statistics from "../../../shared/languages/statistics/en.json";
import en from "./en.json";
import type { Language } from "./preference.ts";

/** The texts by key. Every catalogue has those of English. */
export type Catalogue = typeof en & { statistics: typeof statistics };

type Keys<Node, Prefix extends string = ""> = {
  [Name in keyof Node & string]: Node[Name] extends string
    ? `${Prefix}${Name}`
    : Keys<Node[Name], `${Prefix}${Name}.`>;
}[keyof Node & string];

/** The key of a text, such as `links.title`. */
export type TextKey = Keys<Catalogue>;

export const fallbackCatalogue: Catalogue = { ...en, statistics };

/**
 * Loads the catalogue of each language. English is part of the first script; the others are
 * fetched.
 */
const LOADERS: Readonly<Record<Language, () => Promise<Catalogue>>> = {
  en: () => Promise.resolve(fallbackCatalogue),
  de: async () => {
    const [de, { default: statistics }] = await Promise.all([
      import("./de.json"),
      import("../../../shared/languages/statistics/de.json"),
    ]);
    return { ...de.default, statistics };
  },
};

export const loadCatalogue = (language: Language): Promise<Catalogue> => LOADERS[language]();

/** The name of a language in itself, such as `Deutsch`. */
export const nameOf = (language: Language): string => languageName(language, language);
