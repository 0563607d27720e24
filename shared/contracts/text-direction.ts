/** Scripts that are written from right to left. */
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
