/** Checks of form fields by the schemas that the service checks them by. */
import type * as z from "zod";

/** For react-hook-form's `validate`: true, or what is wrong. */
export const problemOf =
  (schema: z.ZodType) =>
  (value: unknown): true | string => {
    const parsed = schema.safeParse(value);
    return parsed.success || sentence(parsed.error.issues[0]?.message ?? "not valid");
  };

/** Zod's words as a sentence of a form. */
export function sentence(message: string): string {
  const size = /^Too (small|big): expected (string|array) to have [<>]=(\d+) (\w+)$/.exec(message);
  if (size !== null) {
    const [, bound, , number, unit] = size;
    if (bound === "small" && number === "1") return "Required";
    return `At ${bound === "small" ? "least" : "most"} ${number} ${unit}`;
  }
  const text = message.replace(/^Invalid (input|option): /, "");
  return text.charAt(0).toUpperCase() + text.slice(1);
}
