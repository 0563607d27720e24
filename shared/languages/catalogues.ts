/**
 * The languages of the pages that visitors see. Each has a catalogue: all texts, as ICU messages.
 */
import de from "./de.json";
import en from "./en.json";

/** All messages of a language. */
export type Catalogue = typeof en;

/** Catalogues by the code of the language (BCP 47). */
export type Catalogues = Readonly<Record<string, Catalogue>>;

export const CATALOGUES: Catalogues = { en, de };

/** The language of visitors who accept none of the others; every set of catalogues has it. */
export const FALLBACK = "en";
