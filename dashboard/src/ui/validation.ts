/** Validates form fields with the same schemas as the API. */
import type * as z from "zod";

/** Creates a `validate` function for react-hook-form, which returns true or the error message. */
export const validateWith =
  (schema: z.ZodType) =>
  (value: unknown): true | string => {
    const { error } = schema.safeParse(value, { error: describeIssue });
    return error === undefined || capitalize(error.issues[0]?.message ?? "not valid");
  };

/**
 * An error map for `safeParse`: describes an issue by its code, as text for a form field. A message that the schema
 * itself sets takes precedence; undefined leaves the message to Zod.
 */
export function describeIssue(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === "invalid_type" && NUMBERS.has(issue.expected)) return "A whole number";
  if (issue.code !== "too_small" && issue.code !== "too_big") return undefined;
  if (NUMBERS.has(issue.origin)) {
    return issue.code === "too_big" ? `At most ${issue.maximum}` : `At least ${issue.minimum}`;
  }
  const unit = UNITS[issue.origin];
  if (unit === undefined) return undefined;
  if (issue.code === "too_big") return `At most ${issue.maximum} ${unit}`;
  return issue.minimum === 1 ? "Required" : `At least ${issue.minimum} ${unit}`;
}

/** Zod's names of numbers; every number that users enter is an integer. */
const NUMBERS: ReadonlySet<string> = new Set(["number", "int"]);

const UNITS: Readonly<Record<string, string>> = { string: "characters", array: "items" };

/** Turns a message of the API's schemas into a sentence for a form. */
export const capitalize = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
