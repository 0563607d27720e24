/**
 * The languages of the pages that visitors see, and of reports and mails. Each has a catalogue: all
 * texts, as ICU messages. The texts of statistics have files of their own, which the catalogues of
 * the dashboard have as well.
 */
import { visitLanguages } from "../decision/language.ts";
import de from "./de.json";
import en from "./en.json";
import keysDe from "./keys/de.json";
import keysEn from "./keys/en.json";
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
  keys: typeof keysEn;
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
    keys: keysEn,
    passwords: passwordsEn,
    reports: reportsEn,
    webhooks: webhooksEn,
  },
  de: {
    ...de,
    statistics: statisticsDe,
    keys: keysDe,
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

/** Characters of `Accept-Language` that are read: twice as many as a dozen languages take. */
export const HEADER_LENGTH_MAX = 256;

/** The choice between languages for a visitor. */
export class LanguageChoice {
  /** Codes by themselves in lower case. */
  readonly #known: ReadonlyMap<string, string>;

  constructor(codes: readonly string[]) {
    this.#known = new Map([
      ...codes.map((code) => [code.toLowerCase(), code] as const),
      ["*", FALLBACK],
    ]);
  }

  /**
   * Returns the code of the language that a visitor accepts, by `Accept-Language`: that of the
   * highest weight that there is, of several the first. `de-AT` is `de` if there is no `de-AT` (RFC
   * 4647 §3.4). `*` is English, and so is a header without any of the languages. Only the first 256
   * characters and 64 entries of a header count.
   */
  choose(header: string): string {
    let chosen = FALLBACK;
    let highest = 0;
    visitLanguages(readable(header), (tag, weight) => {
      const code = weight > highest ? this.#find(tag) : undefined;
      if (code === undefined) return;
      chosen = code;
      highest = weight;
    });
    return chosen;
  }

  /** Looks a tag up, then without its last subtag, and so on. */
  #find(tag: string): string | undefined {
    let code = this.#known.get(tag);
    for (let end = tag.lastIndexOf("-"); code === undefined && end > 0;) {
      code = this.#known.get(tag.slice(0, end));
      end = tag.lastIndexOf("-", end - 1);
    }
    return code;
  }
}

/**
 * The part of a header that is read, without an entry that is cut off: its weight could be another.
 */
function readable(header: string): string {
  if (header.length <= HEADER_LENGTH_MAX) return header;
  return header.slice(0, Math.max(0, header.lastIndexOf(",", HEADER_LENGTH_MAX)));
}
