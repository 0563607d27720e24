/**
 * Chooses the language of the dashboard: the user's choice in this browser, or else the browser's.
 */

/** The languages of the dashboard. */
export const LANGUAGES = ["en", "de"] as const;

export type Language = (typeof LANGUAGES)[number];

export const FALLBACK: Language = "en";

const SETTING = "shorthop-language";

/** The chosen language; undefined for that of the browser. */
export const readChoice = (): Language | undefined =>
  find(localStorage.getItem(SETTING) ?? undefined);

/** Stores the choice; undefined follows the browser. */
export function saveChoice(language: Language | undefined): void {
  if (language === undefined) localStorage.removeItem(SETTING);
  else localStorage.setItem(SETTING, language);
}

/** The first language of a list of language tags, such as `de-AT`, that the dashboard has. */
export const matchLanguage = (tags: readonly string[]): Language =>
  tags.flatMap((tag) => find(tag) ?? find(tag.split("-")[0]) ?? []).at(0) ?? FALLBACK;

/** The chosen language, or else the first of the browser's that the dashboard has. */
export const preferredLanguage = (): Language => readChoice() ?? matchLanguage(navigator.languages);

const find = (text: string | undefined): Language | undefined =>
  LANGUAGES.find((language) => language.toLowerCase() === text?.toLowerCase());
