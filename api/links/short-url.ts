/** Short URLs: of links, and as people paste them, who wrote, copied or scanned them. */
import { decodeAliasPath, encodeAlias, isAlias, trimAlias } from "../../shared/contracts/alias.ts";
import { toAsciiHost } from "../../shared/contracts/host-names.ts";
import { trimInvisible } from "../../shared/contracts/text.ts";
import { invalidField } from "../http/errors.ts";

/**
 * The short URL of a link. Custom domains share the scheme and port of the service's own domain.
 */
export function buildShortUrl(
  { domain_host, alias }: { domain_host: string | null; alias: string },
  shortUrl: string,
): string {
  const url = new URL(shortUrl);
  if (domain_host !== null) url.hostname = domain_host;
  return `${url.origin}/${encodeAlias(alias)}`;
}

/**
 * A link by its short URL: the aliases that the path may mean, of which the first one that a link
 * has counts.
 */
export type ShortUrl = { aliases: readonly string[]; domain: string };

/** Maximum characters of a short URL that is looked up. */
export const SHORT_URL_LENGTH_MAX = 2_048;

/**
 * A scheme, a host with or without a port, and a path; before them what opens a quotation, or what
 * chats write around bold and italic text.
 */
const URL_PARTS =
  /^(?<marks>[\s\p{Ps}\p{Pi}"'`<>*_~|]*)(?:https?:)?(?:\/\/)?(?<host>(?!https?:\/)[^/?#\s\p{Ps}\p{Pi}"'`<>*_~|][^/?#\s]*)(?<path>\/[^?#]*)/iu;

/** Marks of chats that an alias may end with. */
const CHAT_MARKS = /[_~]{1,3}$/;

/** The ports that a URL need not name. */
const DEFAULT_PORT = /:(?:80|443)$/;

/**
 * The host and the aliases of a short URL; undefined for another text. What follows the first
 * segment may be no part of the alias: a link with `forward_path` redirects such URLs too.
 */
export function readShortUrl(text: string): ShortUrl | undefined {
  const { marks = "", host, path = "" } = URL_PARTS.exec(trimInvisible(text))?.groups ?? {};
  if (host === undefined) return undefined;
  const decoded = decodeAliasPath(path);
  const [, first = ""] = decoded.split("/", 2);
  const whole = decoded.slice(1);
  const named = isAlias(whole) ? whole : (trimAlias(decoded) ?? first);
  const unmarked = CHAT_MARKS.test(marks) ? [named.replace(CHAT_MARKS, "")] : [];
  const aliases = [...new Set([named, ...unmarked, first])].filter(isAlias);
  const domain = toAsciiHost(host).replace(DEFAULT_PORT, "");
  return aliases.length === 0 ? undefined : { aliases, domain };
}

/** As {@link readShortUrl}; throws `invalid_request` for a text that is no short URL. */
export function requireShortUrl(text: string): ShortUrl {
  const found = readShortUrl(text);
  if (found !== undefined) return found;
  throw invalidField("short_url", "must be a short URL such as https://sho.rt/hello");
}

/** The host of a domain as people write it. */
export const toHost = (domain: string, shortUrl: URL): string =>
  withoutPort(toAsciiHost(domain), shortUrl);

/** A host without the port that short URLs show. */
export function withoutPort(host: string, { port }: URL): string {
  const shown = `:${port}`;
  return port !== "" && host.endsWith(shown) ? host.slice(0, -shown.length) : host;
}
