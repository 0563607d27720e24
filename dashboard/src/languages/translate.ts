/**
 * The catalogues of the dashboard's languages, texts by key as ICU messages, and texts in the
 * current language of the page. Those of statistics are from the catalogues of the pages that show
 * them as well.
 */
import { createElement, type ReactNode } from "react";
import { createTranslator } from "use-intl/core";

import { directionOf, languageName } from "../../../shared/contracts/languages.ts";
import statistics from "../../../shared/languages/statistics/en.json";
import type { StatisticsLanguage } from "../../../shared/statistics/language.ts";
import { FALLBACK, type Language } from "../preferences.ts";
import en from "./en.json";

/** The texts by key. Every catalogue has those of English. */
type Catalogue = typeof en & { statistics: typeof statistics };

type Keys<Node, Prefix extends string = ""> = {
  [Name in keyof Node & string]: Node[Name] extends string
    ? `${Prefix}${Name}`
    : Keys<Node[Name], `${Prefix}${Name}.`>;
}[keyof Node & string];

/** The key of a text, such as `links.title`. */
export type TextKey = Keys<Catalogue>;

export const fallbackCatalogue: Catalogue = { ...en, statistics };

/**
 * Loads the catalogue of each language. English is part of the application; the others are
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

/** The name of a language in itself, such as `Deutsch`. */
export const nameOf = (language: Language): string => languageName(language, language);

type Values = Readonly<Record<string, string | number>>;

/** Values of placeholders, and functions that render the content of tags. */
type RichValues = Readonly<Record<string, string | number | ((content: ReactNode) => ReactNode)>>;

const createFor = (locale: Language, catalogue: Catalogue) =>
  createTranslator({ locale, messages: catalogue });

let current: Language = FALLBACK;
let translator = createFor(FALLBACK, fallbackCatalogue);
const listeners = new Set<() => void>();

/** The language of the page. */
export const getLanguage = (): Language => current;

/** Calls a function whenever the language changes; returns a function that ends that. */
export function onLanguageChange(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/**
 * Changes the language of the page. Rejects, and changes nothing, if its catalogue cannot be
 * loaded.
 */
export async function setLanguage(language: Language): Promise<void> {
  translator = createFor(language, await LOADERS[language]());
  current = language;
  const { documentElement } = document;
  documentElement.lang = language;
  documentElement.dir = directionOf(language);
  for (const notify of listeners) notify();
}

/**
 * Returns a text. Call it while rendering or handling an event, not when a module is loaded: the
 * language may change.
 */
export const t = (key: TextKey, values?: Values): string => translator(key, values);

/** Returns the text of a key that may not exist, such as one with a word of the API. */
export function findText(key: string): string | undefined {
  let node: unknown = fallbackCatalogue;
  for (const name of key.split(".")) {
    // An object has more names than its own, such as `constructor`.
    if (typeof node !== "object" || node === null || !Object.hasOwn(node, name)) return undefined;
    node = Reflect.get(node, name);
  }
  // The catalogue has it.
  return t(key as TextKey);
}

/** Returns a text with elements, which functions of `values` render for its tags. */
export const rich = (key: TextKey, values: RichValues): ReactNode => translator.rich(key, values);

/** Elements for the tags of texts. */
export const strong = (content: ReactNode): ReactNode => createElement("strong", null, content);
export const code = (content: ReactNode): ReactNode => createElement("code", null, content);

/** Returns a function that creates a formatter of `Intl` once for each language. */
export function perLanguage<Formatter>(create: (language: Language) => Formatter): () => Formatter {
  const created = new Map<Language, Formatter>();
  return () => {
    const formatter = created.get(current) ?? create(current);
    created.set(current, formatter);
    return formatter;
  };
}

/** The same object until the language changes. */
export const statisticsLanguage = perLanguage((): StatisticsLanguage => ({
  tag: getLanguage(),
  translate: (text, values) => t(`statistics.${text}`, values),
}));
