/** Chooses the language of a page by what its visitor accepts. */
import { visitLanguages } from "../decision/language.ts";
import { FALLBACK } from "./catalogues.ts";

/** Characters of `Accept-Language` that are read: twice as many as a dozen languages take. */
export const HEADER_LENGTH_MAX = 256;

/** Returns the code of a language that a visitor accepts; the argument is `Accept-Language`. */
export type ChooseLanguage = (header: string) => string;

/**
 * Creates the choice between languages by their codes. It takes the language of the highest weight
 * that there is, of several the first: `de-AT` is `de` if there is no `de-AT` (RFC 4647 §3.4). `*`
 * is English, and so is a header without any of the languages. Only the first 256 characters and 64
 * entries of a header count.
 */
export function createLanguageChoice(codes: readonly string[]): ChooseLanguage {
  const known = new Map(codes.map((code) => [code.toLowerCase(), code]));
  known.set("*", FALLBACK);

  /** Looks a tag up, then without its last subtag, and so on. */
  function find(tag: string): string | undefined {
    let code = known.get(tag);
    for (let end = tag.lastIndexOf("-"); code === undefined && end > 0;) {
      code = known.get(tag.slice(0, end));
      end = tag.lastIndexOf("-", end - 1);
    }
    return code;
  }

  return (header) => {
    let chosen = FALLBACK;
    let highest = 0;
    visitLanguages(readable(header), (tag, weight) => {
      const code = weight > highest ? find(tag) : undefined;
      if (code === undefined) return;
      chosen = code;
      highest = weight;
    });
    return chosen;
  };
}

/** The part of a header that is read, without an entry that is cut off: its weight could be another. */
function readable(header: string): string {
  if (header.length <= HEADER_LENGTH_MAX) return header;
  return header.slice(0, Math.max(0, header.lastIndexOf(",", HEADER_LENGTH_MAX)));
}
