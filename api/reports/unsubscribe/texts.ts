/** The texts of the page on which recipients unsubscribe. */
import { inEachLanguage } from "../../../shared/languages/catalogues.ts";
import { textsOf } from "../../../shared/languages/messages.ts";

/** The texts in a language by its code; English for others. */
export const unsubscribeTexts = inEachLanguage((code, { reports }) =>
  textsOf(code, reports.unsubscribe),
);
