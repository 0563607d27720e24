/** The parameters of a short URL, as conditions read them. */

/**
 * Most parameters of a query that conditions read, and that forwarding merges. Further ones are
 * ignored.
 */
const PARAMETERS_MAX = 256;

const NO_VALUES: readonly string[] = [];

export type Parameters = {
  /** The values of a parameter. */
  valuesOf(name: string): readonly string[];
  /** Makes the next call of `valuesOf` read the query again. */
  forget(): void;
};

/**
 * The parameters of a query (without `?`). The query is read and parsed once, when the first
 * parameter is read. A search takes microseconds at most; the values of the last name are cached.
 */
export function createParameters(readQuery: () => string): Parameters {
  let parameters: URLSearchParams | undefined;
  let isParsed = false;
  let lastName: string | undefined;
  let lastValues = NO_VALUES;
  return {
    valuesOf(name) {
      if (name === lastName) return lastValues;
      if (!isParsed) {
        const query = readQuery();
        parameters = query === "" ? undefined : new URLSearchParams(firstParameters(query));
        isParsed = true;
      }
      lastName = name;
      lastValues = parameters?.getAll(name) ?? NO_VALUES;
      return lastValues;
    },
    forget() {
      isParsed = false;
      lastName = undefined;
    },
  };
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
