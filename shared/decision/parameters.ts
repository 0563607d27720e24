/** The parameters of a short URL, as conditions read them. */

/** The parameters of a query that conditions look at; forwarding merges as many. Those behind them are not there. */
const PARAMETERS_MAX = 256;

const NO_VALUES: readonly string[] = [];

export type Parameters = {
  /** The values of a parameter. */
  valuesOf(name: string): readonly string[];
  /** Reads the query anew when it is asked for next. */
  forget(): void;
};

/**
 * The parameters of a query (without `?`), which is read and parsed once, when the first parameter is asked for. Searching
 * them takes microseconds at most; those who ask often for one name get its values from the search before.
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

/** The part of a query that has its first {@link PARAMETERS_MAX} parameters; between two `&` without text is none. */
function firstParameters(query: string): string {
  // Each takes a character, and a separator.
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
