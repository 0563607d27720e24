/** Reads the filter of a list from its query. */
import { toAsciiHost } from "../../../shared/contracts/ascii-host.ts";
import { readableHost } from "../../../shared/contracts/readable-host.ts";
import { UTM_NAMES } from "../../../shared/contracts/utm.ts";
import { parseWebUrl } from "../../../shared/contracts/web-url.ts";
import type { AccountScope } from "../../http/principal.ts";
import { isStorable } from "../../postgres.ts";
import type { DestinationRules } from "../destination-url.ts";
import type { ListLinksQuery } from "../model.ts";
import type { LinkFilter } from "./filter.ts";

/** An empty query parameter counts as absent. */
const emptyToNull = (text: string | undefined): string | null =>
  text === undefined || text === "" ? null : text;

type Conditions = Omit<ListLinksQuery, "page" | "limit" | "starting_after" | "sort" | "order">;

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

/** A host without the port that short URLs show. */
export function withoutPort(host: string, { port }: URL): string {
  const shown = `:${port}`;
  return port !== "" && host.endsWith(shown) ? host.slice(0, -shown.length) : host;
}

/** The filter of a query, or undefined when no link can match. */
export function toFilter(
  owner: AccountScope,
  query: Conditions,
  { shortUrl, ownHosts }: Pick<DestinationRules, "shortUrl" | "ownHosts">,
): LinkFilter | undefined {
  const { url, domain } = query;
  const host = domain === undefined ? undefined : withoutPort(toAsciiHost(domain), shortUrl);
  const filter: LinkFilter = {
    accountId: owner.accountId,
    mode: owner.mode,
    search: emptyToNull(query.search),
    respelled: respellHosts(query.search ?? ""),
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
  const texts = [
    filter.search,
    ...filter.tags,
    filter.alias,
    host,
    filter.targetUrl,
    filter.externalId,
    ...filter.utm.flatMap(({ anyOf, noneOf }) => [...anyOf, ...noneOf]),
    filter.createdBy,
  ];
  return isStorable(texts.join("")) ? filter : undefined;
}
