/** The texts of the page on which recipients unsubscribe. */
import { CATALOGUES, FALLBACK } from "../../../shared/languages/catalogues.ts";
import { createTexts } from "../../../shared/languages/messages.ts";

const texts = new Map(
  Object.entries(CATALOGUES).map(([code, { reports }]) => [
    code,
    createTexts(code, reports.unsubscribe),
  ]),
);

/** The texts in a language by its code; English for others. */
export function unsubscribeTexts(code: string) {
  const found = texts.get(code) ?? texts.get(FALLBACK);
  if (found === undefined) throw new Error("There is no English catalogue.");
  return found;
}
