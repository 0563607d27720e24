/** Short URLs that are searched for: pasted as they were written, copied or scanned. */
import { ALIAS_PATTERN, trimAlias } from "../../../shared/contracts/alias.ts";
import { toAsciiHost } from "../../../shared/contracts/ascii-host.ts";
import { trimInvisible } from "../../../shared/contracts/text.ts";
import type { AccountScope } from "../../http/principal.ts";
import type { LinkServiceDeps } from "../deps.ts";
import type { ListLinksQuery } from "../model.ts";
import { withoutPort } from "./query.ts";

/** A scheme, a host with or without a port, and a path. */
const URL_PARTS = /^(?:https?:)?(?:\/\/)?(?<host>[^/?#\s]+)(?<path>\/[^?#]*)/i;

/** The host and the alias of a short URL; undefined for a text that is none. */
export function readShortUrl(text: string): { host: string; alias: string } | undefined {
  const { host, path = "" } = URL_PARTS.exec(trimInvisible(text))?.groups ?? {};
  if (host === undefined) return undefined;
  const decoded = decodePath(path);
  const alias = trimAlias(decoded) ?? decoded.split("/")[1] ?? "";
  return ALIAS_PATTERN.test(alias) ? { host: toAsciiHost(host), alias } : undefined;
}

function decodePath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

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
  const host = withoutPort(found.host, shortUrl);
  const isKnown =
    ownHosts.has(host) || (await domains.findHosts(owner, [host], 0)).known.includes(host);
  return isKnown ? { ...query, search: undefined, alias: found.alias, domain: host } : query;
}
