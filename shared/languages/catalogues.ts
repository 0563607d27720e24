/**
 * The languages of the pages that visitors see, and of reports and mails. Each has a catalogue: all
 * texts, as ICU messages. The texts of statistics have files of their own, which the catalogues of
 * the dashboard have as well.
 */
import de from "./de.json";
import en from "./en.json";
import passwordsDe from "./passwords/de.json";
import passwordsEn from "./passwords/en.json";
import reportsDe from "./reports/de.json";
import reportsEn from "./reports/en.json";
import statisticsDe from "./statistics/de.json";
import statisticsEn from "./statistics/en.json";
import webhooksDe from "./webhooks/de.json";
import webhooksEn from "./webhooks/en.json";

/** All messages of a language. */
export type Catalogue = typeof en & {
  statistics: typeof statisticsEn;
  passwords: typeof passwordsEn;
  reports: typeof reportsEn;
  webhooks: typeof webhooksEn;
};

/** Catalogues by the code of the language (BCP 47). */
export type Catalogues = Readonly<Record<string, Catalogue>>;

export const CATALOGUES: Catalogues = {
  en: {
    ...en,
    statistics: statisticsEn,
    passwords: passwordsEn,
    reports: reportsEn,
    webhooks: webhooksEn,
  },
  de: {
    ...de,
    statistics: statisticsDe,
    passwords: passwordsDe,
    reports: reportsDe,
    webhooks: webhooksDe,
  },
};

/** The language of visitors who accept none of the others; every set of catalogues has it. */
export const FALLBACK = "en";

/**
 * Creates something for each language, by its code and catalogue. Returns what was created for a
 * code; for others what was created for English.
 */
export function inEachLanguage<Created>(
  create: (code: string, catalogue: Catalogue) => Created,
  catalogues: Catalogues = CATALOGUES,
): (code: string) => Created {
  const created = new Map(
    Object.entries(catalogues).map(([code, catalogue]) => [code, create(code, catalogue)]),
  );
  const fallback = created.get(FALLBACK);
  if (fallback === undefined) throw new Error("There is no English catalogue.");
  return (code) => created.get(code) ?? fallback;
}
