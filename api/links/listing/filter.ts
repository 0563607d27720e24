/** Filters of link lists: how they are read from a query, and what is known of them. */
import { readableHost, toAsciiHost } from "../../../shared/contracts/host-names.ts";
import { UTM_NAMES, type UtmName } from "../../../shared/contracts/query-string.ts";
import { composeLetters } from "../../../shared/contracts/text.ts";
import { parseWebUrl } from "../../../shared/contracts/web-url.ts";
import type { Uuid } from "../../../shared/ids.ts";
import type { AccountScope } from "../../http/principal.ts";
import type { Values } from "../../http/query.ts";
import { isStorable } from "../../postgres.ts";
import type { DestinationRules } from "../destinations.ts";
import type { ListLinksQuery } from "../model.ts";
import { toHost } from "../short-url.ts";

/**
 * Every condition must hold; null and an empty list mean no condition. Texts contain no control
 * characters.
 */
export type LinkFilter = AccountScope & {
  /** Text that title, alias, original URL or notes contain, ignoring case. */
  search: string | null;
  /**
   * `search` as a URL may have it: with its hosts in the other spelling, Unicode or Punycode, else
   * with its letters as they were typed; null if that is the same.
   */
  respelled: string | null;
  /**
   * A part of `search` that few links contain: an index finds these faster than links with all
   * trigrams of the search.
   */
  rarePart: string | null;
  /** Tags that a link must have, all of them. */
  tags: readonly string[];
  alias: string | null;
  /** A custom domain by its host; `own` for the service's domain. */
  domain: { host: string } | "own" | null;
  /** The destination as the WHATWG parser writes it. */
  targetUrl: string | null;
  externalId: string | null;
  /** Values of UTM parameters, "" for none. */
  utm: readonly ({ name: UtmName } & Values)[];
  /** The public id of a key or a user. */
  createdBy: string | null;
  /** Created at or after, and before. */
  createdAfter: Date | null;
  createdBefore: Date | null;
  expired: boolean | null;
  archived: boolean | null;
};

export type LinkOrder = { sort: "created_at" | "clicks" | "last_click_at"; order: "asc" | "desc" };

/** The name of a list in this order, for its cursors. */
export const listName = ({ sort, order }: LinkOrder): string => `links ${sort} ${order}`;

/** A link's place in a list. */
export type LinkPosition = { id: Uuid; key: number };

/** The conditions of a list; of a request, also what it says of the part of the list. */
type Conditions = Omit<ListLinksQuery, "page" | "limit" | "starting_after" | "sort" | "order">;

/** The filter of a query, or undefined when no link can match. */
export function toFilter(
  owner: AccountScope,
  query: Conditions,
  { shortUrl, ownHosts }: DestinationRules,
): LinkFilter | undefined {
  const { url, domain, search: typed = "" } = query;
  // As titles and notes are stored. A URL is stored as it was given, with letters of either form.
  const search = composeLetters(typed);
  const host = domain === undefined ? undefined : toHost(domain, shortUrl);
  const filter: LinkFilter = {
    accountId: owner.accountId,
    mode: owner.mode,
    search: emptyToNull(search),
    respelled: respellHosts(search) ?? (typed === search ? null : typed),
    rarePart: null,
    tags: [query.tag ?? []].flat().filter((tag) => tag !== ""),
    alias: emptyToNull(query.alias),
    domain: host === undefined || host === "" ? null : ownHosts.has(host) ? "own" : { host },
    targetUrl: url === undefined || url === "" ? null : toTargetUrl(url),
    externalId: emptyToNull(query.external_id),
    utm: UTM_NAMES.flatMap((name) => {
      const values = query[name];
      return values === undefined ? [] : [{ name, ...values }];
    }),
    createdBy: emptyToNull(query.created_by),
    createdAfter: toDate(query.created_after),
    createdBefore: toDate(query.created_before),
    expired: query.expired === undefined ? null : query.expired === "true",
    archived: query.archived === "any" ? null : query.archived === "true",
  };
  return isStorable(textsOf(filter).join("")) ? filter : undefined;
}

const textsOf = (value: unknown): string[] =>
  typeof value === "string" ? [value] : Object.values(value ?? {}).flatMap(textsOf);

/** An empty query parameter counts as absent. */
const emptyToNull = (text: string | undefined): string | null =>
  text === undefined || text === "" ? null : text;

const toDate = (text: string | undefined): Date | null =>
  text === undefined ? null : new Date(text);

/** A URL as links have their destinations; a text that no link can have stays as it is. */
function toTargetUrl(text: string): string {
  const parsed = parseWebUrl(text);
  return "uri" in parsed ? parsed.uri : text;
}

/** The other spelling of a search for a link's destination, which is stored as it was given. */
function respellHosts(search: string): string | null {
  const respelled = search.replaceAll(/[^\s/?#]+/g, (part) => {
    if (!/[^!-~]|xn--/i.test(part) || !part.includes(".")) return part;
    const ascii = toAsciiHost(part);
    return ascii === part.toLowerCase() ? readableHost(ascii) : ascii;
  });
  return respelled.toLowerCase() === search.toLowerCase() ? null : respelled;
}

/** Whether the filter selects all links of the owner. */
export const selectsAll = (filter: LinkFilter): boolean =>
  filter.archived === null && selectsAllBut(filter);

/** Whether the filter selects all links of the owner that are not archived. */
export const selectsUnarchived = (filter: LinkFilter): boolean =>
  filter.archived === false && selectsAllBut(filter);

/** Members of a filter that are no condition beside `archived`. */
const NO_CONDITIONS: ReadonlySet<string> = new Set(["accountId", "mode", "archived"]);

/** Whether no condition but `archived` is set. */
const selectsAllBut = (filter: LinkFilter): boolean =>
  Object.entries(filter).every(
    ([name, condition]) =>
      NO_CONDITIONS.has(name) ||
      condition === null ||
      (Array.isArray(condition) && condition.length === 0),
  );

/** Whether an index finds the few links that match. */
export const isSelective = ({
  rarePart,
  alias,
  domain,
  targetUrl,
  externalId,
  expired,
  archived,
}: LinkFilter): boolean =>
  rarePart !== null ||
  alias !== null ||
  targetUrl !== null ||
  externalId !== null ||
  expired === true ||
  archived === true ||
  (domain !== null && domain !== "own");

/** PostgreSQL's trigrams consist of letters and digits. */
const TRIGRAM = /[\p{L}\p{N}]{3}/u;

/** Whether the index of trigrams can find a text. */
export const hasTrigram = (search: string): boolean => TRIGRAM.test(search);

/** Maximum words of a search that are examined: each is compared with several hundred links. */
const WORDS_MAX = 8;

/**
 * A word with a character before and after it, which PostgreSQL's trigrams include as the word's
 * start and end.
 */
const WORD = /(?<=(?<before>.?))(?<word>[\p{L}\p{N}]+)(?=(?<after>.?))/gsu;

/** The words of a search that the trigram index can find, with their surrounding characters. */
export function listSearchParts(search: string): string[] {
  const words = [...search.matchAll(WORD)].slice(0, WORDS_MAX);
  const parts = words.map(({ groups: { before = "", word = "", after = "" } = {} }) =>
    [before, word, after].join(""),
  );
  return parts.filter((part) => part.length >= 3);
}
