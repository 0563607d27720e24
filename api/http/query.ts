/**
 * Parses a request's query. The framework's own parser would turn commas and brackets into lists.
 */
import * as z from "zod";

import { ApiError, DETAILS_MAX, shorten } from "./errors.ts";

/** Maximum parameters of a query; routes have at most ten, some of which may be repeated. */
const PARAMETERS_MAX = 200;

/**
 * Returns the parameters of a URL's query by name; a repeated parameter has a list of its values.
 * Throws `invalid_request` beyond {@link PARAMETERS_MAX}.
 */
export function readQuery(url: string): Record<string, string | string[]> {
  const start = url.indexOf("?");
  if (start < 0) return {};
  const values = new Map<string, string[]>();
  let count = 0;
  for (const [name, value] of new URLSearchParams(url.slice(start + 1))) {
    count++;
    if (count > PARAMETERS_MAX) {
      throw new ApiError(
        "invalid_request",
        `The query has too many parameters: ${PARAMETERS_MAX} at most.`,
      );
    }
    const previous = values.get(name);
    if (previous === undefined) values.set(name, [value]);
    else previous.push(value);
  }
  // `fromEntries` defines `__proto__` as an ordinary member.
  return Object.fromEntries(
    [...values].map(([name, list]): [string, string | string[]] => [
      name,
      list.length === 1 ? (list[0] ?? "") : list,
    ]),
  );
}

/**
 * Throws `invalid_request`, naming the parameter and the known ones, when a query has a parameter
 * that is not `known`.
 */
export function requireKnownParameters(
  query: Readonly<Record<string, unknown>>,
  known: readonly string[],
): void {
  const unknown = Object.keys(query).filter((name) => !known.includes(name));
  const [first] = unknown;
  if (first === undefined) return;
  const takes = known.length === 0 ? "none" : known.toSorted().join(", ");
  const details = unknown.slice(0, DETAILS_MAX).map((name) => {
    const param = shorten(name);
    return { param, message: `Unknown query parameter "${param}".` };
  });
  const param = shorten(first);
  throw new ApiError(
    "invalid_request",
    `Unknown query parameter "${param}"; this endpoint takes ${takes}.`,
    { param, details },
  );
}

// Query parameters of filters: repeated, they have several values; `-` before one excludes it.

/** Maximum values of all filters of one query together. */
export const FILTER_VALUES_MAX = 100;

/** Maximum characters of one value; the longest stored one is a referrer's path of 512. */
const FILTER_VALUE_LENGTH_MAX = 1_024;

const filterValue = z.string().max(FILTER_VALUE_LENGTH_MAX);

/** One of `anyOf` must match, if there are any; none of `noneOf` may match. */
export type Values = { anyOf: string[]; noneOf: string[] };

/** Returns the stored form of a value, or what is wrong with it. */
type ParseValue = (text: string) => { value: string } | { problem: string };

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
    if ("problem" in parsed) {
      const hint = text.includes(",") ? "; send several values one by one, without commas" : "";
      return { problem: parsed.problem + hint };
    }
    values[negated ? "noneOf" : "anyOf"].push(parsed.value);
  }
  return values;
}
