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
 * The facts of one request after another. A fact that must be parsed or looked up is read from
 * `sources` when a condition first needs it, and then cached: a link has up to 200 conditions, and
 * visitors choose the input that is parsed.
 */
export class CachedFacts<Names extends AgentNames = AgentNames> implements RequestFacts<Names> {
  readonly now: RequestFacts["now"];
  readonly address: RequestFacts["address"];
  readonly location: RequestFacts["location"];
  readonly userAgent: RequestFacts["userAgent"];
  readonly agent: RequestFacts<Names>["agent"];
  readonly language: RequestFacts["language"];
  readonly source: RequestFacts["source"];
  readonly #query: () => string;
  #parameters: ReadonlyMap<string, readonly string[]> | undefined;
  #request = 0;

  constructor(sources: FactSources<Names>) {
    this.now = sources.now;
    this.address = sources.address;
    this.location = this.#once(sources.location);
    this.userAgent = this.#once(sources.userAgent);
    this.agent = this.#once(sources.agent);
    this.language = this.#once(sources.language);
    this.source = this.#once(sources.source);
    this.#query = sources.query;
  }

  parameter(name: string): readonly string[] {
    this.#parameters ??= parseParameters(this.#query());
    return this.#parameters.get(name) ?? NO_VALUES;
  }

  /** From now on the facts are those of the next request. */
  forget(): void {
    this.#request++;
    this.#parameters = undefined;
  }

  #once<Value>(read: () => Value): () => Value {
    let value: Value;
    let readFor = -1;
    return () => {
      if (readFor !== this.#request) {
        value = read();
        readFor = this.#request;
      }
      return value;
    };
  }
}

/** The names of a user agent. */
export const toAgentNames = ({ browser, os, device }: Names): AgentNames => ({
  names: { browser, os, device },
  lower: { browser: browser.toLowerCase(), os: os.toLowerCase(), device },
});

/**
 * Maximum parameters of a query that conditions read, and that forwarding merges. Further ones are
 * ignored.
 */
const PARAMETERS_MAX = 256;

const NO_VALUES: readonly string[] = [];
const NO_PARAMETERS: ReadonlyMap<string, readonly string[]> = new Map();

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
