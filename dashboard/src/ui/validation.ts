/** Validates form fields with the same schemas as the API. */
import type * as z from "zod";

import { translateSentence } from "../languages/errors.ts";
import { t, type TextKey } from "../languages/translate.ts";

/** Creates a `validate` function for react-hook-form, which returns true or the error message. */
export const validateWith =
  (schema: z.ZodType) =>
  (value: unknown): true | string => {
    const { error } = schema.safeParse(value, { error: describeIssue });
    return error === undefined || describeRule(error.issues[0]?.message ?? t("ui.rule.invalid"));
  };

/**
 * An error map for `safeParse`: describes an issue by its code, as text for a form field. A message
 * that the schema itself sets takes precedence; undefined leaves the message to Zod.
 */
export function describeIssue(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === "invalid_type" && NUMBERS.has(issue.expected)) return t("ui.rule.wholeNumber");
  if (issue.code !== "too_small" && issue.code !== "too_big") return undefined;
  if (NUMBERS.has(issue.origin)) {
    return issue.code === "too_big"
      ? t("ui.rule.max", { max: String(issue.maximum) })
      : t("ui.rule.min", { min: String(issue.minimum) });
  }
  const texts = LENGTH_TEXTS[issue.origin];
  if (texts === undefined) return undefined;
  if (issue.code === "too_big") return t(texts.max, { max: String(issue.maximum) });
  return issue.minimum === 1 ? t("ui.required") : t(texts.min, { min: String(issue.minimum) });
}

/** Zod's names of numbers; every number that users enter is an integer. */
const NUMBERS: ReadonlySet<string> = new Set(["number", "int"]);

/** The texts about too much and too little of what is counted. */
const LENGTH_TEXTS: Readonly<Record<string, { max: TextKey; min: TextKey }>> = {
  string: { max: "ui.rule.charactersMax", min: "ui.rule.charactersMin" },
  array: { max: "ui.rule.itemsMax", min: "ui.rule.itemsMin" },
};

/** Turns a message of the API's schemas into a sentence for a form, in the language of the page. */
export function describeRule(message: string): string {
  const text = translateSentence(message);
  return text.charAt(0).toUpperCase() + text.slice(1);
}
