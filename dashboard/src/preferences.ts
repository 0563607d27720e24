/** What the user has chosen in this browser: the theme, and the language. */

/** Color themes; `system` follows the operating system. */
export const THEMES = ["system", "light", "dark"] as const;

export type Theme = (typeof THEMES)[number];

const THEME = "shorthop-theme";

export function readTheme(): Theme {
  const stored = localStorage.getItem(THEME);
  return THEMES.find((theme) => theme === stored) ?? "system";
}

export function applyTheme(theme: Theme): void {
  localStorage.setItem(THEME, theme);
  const { dataset } = document.documentElement;
  if (theme === "system") delete dataset["theme"];
  else dataset["theme"] = theme;
}

/** The languages of the dashboard. */
export const LANGUAGES = ["en", "de"] as const;

export type Language = (typeof LANGUAGES)[number];

export const FALLBACK: Language = "en";

const LANGUAGE = "shorthop-language";

/** The chosen language; undefined for that of the browser. */
export const readChoice = (): Language | undefined =>
  find(localStorage.getItem(LANGUAGE) ?? undefined);

/** Stores the choice; undefined follows the browser. */
export function saveChoice(language: Language | undefined): void {
  if (language === undefined) localStorage.removeItem(LANGUAGE);
  else localStorage.setItem(LANGUAGE, language);
}

/** The first language of a list of language tags, such as `de-AT`, that the dashboard has. */
export const matchLanguage = (tags: readonly string[]): Language =>
  tags.flatMap((tag) => find(tag) ?? find(tag.split("-")[0]) ?? []).at(0) ?? FALLBACK;

/** The chosen language, or else the first of the browser's that the dashboard has. */
export const preferredLanguage = (): Language => readChoice() ?? matchLanguage(navigator.languages);

const find = (text: string | undefined): Language | undefined =>
  LANGUAGES.find((language) => language.toLowerCase() === text?.toLowerCase());
