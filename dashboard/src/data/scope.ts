/** The account and mode of requests, and the paths of their API. */

export type Mode = "live" | "test";

/** The longest text to search links for, as the API takes it. */
export const SEARCH_LENGTH_MAX = 255;

/** The account and mode that requests are scoped to. */
export type AccountScope = { account: string; mode: Mode };

/** Returns the path under which the API of an account and mode is mounted. */
export const getBasePath = ({ account, mode }: AccountScope): string => `/api/${account}/${mode}`;

type QueryValue = string | number | readonly string[] | undefined;

/** New values of parameters; undefined and "" remove one, a list repeats it. */
export type SearchUpdate = Readonly<Record<string, string | readonly string[] | undefined>>;

/** The value of a filter in a query, and whether it excludes: a backslash takes a `-` as it is. */
export function readValue(text: string): { value: string; negated: boolean } {
  const negated = text.startsWith("-");
  const value = negated ? text.slice(1) : text;
  return { value: value.startsWith("\\") ? value.slice(1) : value, negated };
}

/** A value as a filter of a query. */
export const writeValue = (value: string): string => (/^[-\\]/.test(value) ? `\\${value}` : value);

/** Writes query parameters; a list repeats one. */
export function toSearch(query: Readonly<Record<string, QueryValue>>): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const text of typeof value === "object" ? value : [value]) {
      if (text !== undefined) search.append(name, String(text));
    }
  }
  return search.toString();
}
