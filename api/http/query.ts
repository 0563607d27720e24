/**
 * Parses a request's query. The framework's own parser would turn commas and brackets into lists.
 */
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

/** Maximum characters of a client's parameter name that a message repeats. */
const NAME_LENGTH_MAX = 100;

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
    const param = shorten(name, NAME_LENGTH_MAX);
    return { param, message: `Unknown query parameter "${param}".` };
  });
  const param = shorten(first, NAME_LENGTH_MAX);
  throw new ApiError(
    "invalid_request",
    `Unknown query parameter "${param}"; this endpoint takes ${takes}.`,
    { param, details },
  );
}
