/** Names of languages, by Unicode CLDR, and their direction. */

/** By the language of the names: those that have texts are few. */
const names = new Map<string, Intl.DisplayNames>();

/** The name of a language by its code, such as `de`, in another language; other text unchanged. */
export function languageName(code: string, language = "en"): string {
  const known = names.get(language) ?? new Intl.DisplayNames([language], { type: "language" });
  names.set(language, known);
  try {
    return known.of(code) ?? code;
  } catch {
    return code;
  }
}

const RIGHT_TO_LEFT: ReadonlySet<string> = new Set([
  "Arab",
  "Hebr",
  "Thaa",
  "Syrc",
  "Nkoo",
  "Adlm",
]);

/** The direction in which a language is written, by its code (BCP 47), for `dir` in HTML. */
export const directionOf = (language: string): "ltr" | "rtl" =>
  RIGHT_TO_LEFT.has(new Intl.Locale(language).maximize().script ?? "") ? "rtl" : "ltr";
