/** Searches for a pasted short URL find its link. */
import type { AccountScope } from "../../http/principal.ts";
import type { LinkServiceDeps } from "../deps.ts";
import type { ListLinksQuery } from "../model.ts";
import { readShortUrl } from "../short-url.ts";
import { withoutPort } from "./query.ts";

/**
 * The query of a list; one that searches for a short URL on a domain of the service or the account
 * asks for the link at its alias instead, which has no such text.
 */
export async function searchByShortUrl(
  { domains, destinationRules: { shortUrl, ownHosts } }: LinkServiceDeps,
  owner: AccountScope,
  query: ListLinksQuery,
): Promise<ListLinksQuery> {
  const { search = "", alias, domain } = query;
  const found = alias === undefined && domain === undefined ? readShortUrl(search) : undefined;
  if (found === undefined) return query;
  const host = withoutPort(found.domain, shortUrl);
  const isKnown =
    ownHosts.has(host) || (await domains.findHosts(owner, [host], 0)).known.includes(host);
  return isKnown ? { ...query, search: undefined, alias: found.alias, domain: host } : query;
}
