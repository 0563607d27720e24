/** The parameters of a short URL, as conditions read them. */

/**
 * Most parameters of a query that conditions read, and that forwarding merges. Further ones are
 * ignored.
 */
const PARAMETERS_MAX = 256;

const NO_VALUES: readonly string[] = [];
const NO_PARAMETERS: ReadonlyMap<string, readonly string[]> = new Map();

export type Parameters = {
  /** The values of a parameter. */
  valuesOf(name: string): readonly string[];
  /** Makes the next call of `valuesOf` read the query again. */
  forget(): void;
};

/**
 * The parameters of a query (without `?`). The query is read and parsed once, when the first
 * parameter is read.
 */
export function createParameters(readQuery: () => string): Parameters {
  let parameters: ReadonlyMap<string, readonly string[]> | undefined;
  return {
    valuesOf(name) {
      parameters ??= parseParameters(readQuery());
      return parameters.get(name) ?? NO_VALUES;
    },
    forget() {
      parameters = undefined;
    },
  };
}

function parseParameters(query: string): ReadonlyMap<string, readonly string[]> {
  if (query === "") return NO_PARAMETERS;
  const parameters = new Map<string, string[]>();
  for (const [name, value] of new URLSearchParams(firstParameters(query))) {
    const values = parameters.get(name);
    if (values === undefined) parameters.set(name, [value]);
    else values.push(value);
  }
  return parameters;
}

/**
 * The part of a query that has its first {@link PARAMETERS_MAX} parameters. Empty text between two
 * `&` is no parameter.
 */
function firstParameters(query: string): string {
  // Each takes at least a character and a separator.
  if (query.length <= 2 * PARAMETERS_MAX) return query;
  let count = 0;
  for (let start = 0; start < query.length;) {
    const separator = query.indexOf("&", start);
    const end = separator < 0 ? query.length : separator;
    if (end > start && ++count === PARAMETERS_MAX) return query.slice(0, end);
    start = end + 1;
  }
  return query;
}
