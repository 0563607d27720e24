/** The facts of a request that rules can use. */

/** A user agent's names, and the same in lower case, in which they are compared. */
export type AgentNames = { names: Names; lower: Names };

type Names = { browser: string; os: string; device: string };

/** A fact is read when a rule first needs it: most links need none. */
export type RequestFacts<Names extends AgentNames = AgentNames> = {
  /** Unix milliseconds. */
  now: () => number;
  /** The client's address; "" when it is not known. */
  address: () => string;
  /** Country and continent of the address; undefined without data. */
  location: () => { country: string; continent: string } | undefined;
  /** The part of the header `User-Agent` that a click has, with one character for each byte. */
  userAgent: () => string;
  /** The parsed user agent; undefined when it may not be parsed now. */
  agent: () => Names | undefined;
  /** The preferred language, in lower case; "" for none. */
  language: () => string;
  /** Where the visitor came from, as analytics names it: a registrable host, or `direct`. */
  source: () => string;
  /** The values of a parameter of the short URL, among its first 256 (`PARAMETERS_MAX`). */
  parameter: (name: string) => readonly string[];
};

/** The functions that read the facts; `query` is that of the short URL, without `?`. */
export type FactSources<Names extends AgentNames = AgentNames> = Omit<
  RequestFacts<Names>,
  "parameter"
> & { query: () => string };

/**
 * Returns the facts of a request. A fact that must be parsed or looked up is read from `sources`
 * when a condition first needs it, and then cached: a link has up to 200 conditions, and visitors
 * choose the input that is parsed. After `forget` the facts are those of the next request.
 */
export function rememberFacts<Names extends AgentNames>(
  sources: FactSources<Names>,
): { facts: RequestFacts<Names>; forget: () => void } {
  let request = 0;
  const once = <Value>(read: () => Value): (() => Value) => {
    let value: Value;
    let readFor = -1;
    return () => {
      if (readFor !== request) {
        value = read();
        readFor = request;
      }
      return value;
    };
  };
  const parameters = new QueryParameters(sources.query);
  return {
    facts: {
      now: sources.now,
      address: sources.address,
      location: once(sources.location),
      userAgent: once(sources.userAgent),
      agent: once(sources.agent),
      language: once(sources.language),
      source: once(sources.source),
      parameter: (name) => parameters.valuesOf(name),
    },
    forget() {
      request++;
      parameters.forget();
    },
  };
}

/** The names of a user agent. */
export const toAgentNames = ({ browser, os, device }: Names): AgentNames => ({
  names: { browser, os, device },
  lower: { browser: browser.toLowerCase(), os: os.toLowerCase(), device },
});

/**
 * Most parameters of a query that conditions read, and that forwarding merges. Further ones are
 * ignored.
 */
const PARAMETERS_MAX = 256;

const NO_VALUES: readonly string[] = [];
const NO_PARAMETERS: ReadonlyMap<string, readonly string[]> = new Map();

/**
 * The parameters of a query (without `?`). The query is read and parsed once, when the first
 * parameter is read.
 */
class QueryParameters {
  readonly #readQuery: () => string;
  #parameters: ReadonlyMap<string, readonly string[]> | undefined;

  constructor(readQuery: () => string) {
    this.#readQuery = readQuery;
  }

  valuesOf(name: string): readonly string[] {
    this.#parameters ??= parseParameters(this.#readQuery());
    return this.#parameters.get(name) ?? NO_VALUES;
  }

  /** Makes the next call of `valuesOf` read the query again. */
  forget(): void {
    this.#parameters = undefined;
  }
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
