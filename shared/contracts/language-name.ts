/** Names of languages, by Unicode CLDR. */

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
