/** Query parameters of filters: repeated, they have several values; `-` before one excludes it. */
import * as z from "zod";

/** Maximum values of all filters of one query together. */
export const FILTER_VALUES_MAX = 100;

/** Maximum characters of one value; the longest stored one is a referrer's path of 512. */
const FILTER_VALUE_LENGTH_MAX = 1_024;

const filterValue = z.string().max(FILTER_VALUE_LENGTH_MAX);

/** One of `anyOf` must match, if there are any; none of `noneOf` may match. */
export type Values = { anyOf: string[]; noneOf: string[] };

/** Returns the stored form of a value, or a description of valid values. */
type ParseValue = (text: string) => { value: string } | { expected: string };

/** The end of every filter's description. */
const HOW_TO_USE =
  "Repeat it for alternatives; `-` before a value excludes it, and a backslash takes the next character as it is.";

/** The parameter of a filter; its output is the values in the form in which they are stored. */
export const filterParameter = (description: string, example: string, parse: ParseValue) =>
  z
    .union([filterValue, z.array(filterValue).max(FILTER_VALUES_MAX)])
    // Before the transformation, because the input is documented.
    .meta({ description: `${description} ${HOW_TO_USE}`, examples: [example] })
    .transform((given, context) => {
      const read = readValues(typeof given === "string" ? [given] : given, parse);
      if (!("problem" in read)) return read;
      context.issues.push({ code: "custom", message: read.problem, input: given });
      return z.NEVER;
    })
    .optional();

/** A leading `-` excludes; a backslash escapes the character after it. */
function readValues(texts: readonly string[], parse: ParseValue): Values | { problem: string } {
  const values: Values = { anyOf: [], noneOf: [] };
  for (const text of texts) {
    const negated = text.startsWith("-");
    const rest = negated ? text.slice(1) : text;
    const parsed = parse(rest.startsWith("\\") ? rest.slice(1) : rest);
    if ("expected" in parsed) {
      const hint = text.includes(",") ? "; send several values one by one, without commas" : "";
      return { problem: `must be ${parsed.expected}${hint}` };
    }
    values[negated ? "noneOf" : "anyOf"].push(parsed.value);
  }
  return values;
}
