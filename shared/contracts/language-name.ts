/** Names of languages, by Unicode CLDR. */

const names = new Intl.DisplayNames(["en"], { type: "language" });

/** The English name of a language by its code, such as `de`; other text unchanged. */
export function languageName(code: string): string {
  try {
    return names.of(code) ?? code;
  } catch {
    return code;
  }
}
