/**
 * Parses and validates destinations. The rules apply to the URL that the WHATWG parser returns,
 * never to the text.
 */
import { parseWebUrl } from "../../shared/contracts/web-url.ts";
import { normalizeHost } from "../../shared/hosts.ts";
import { classifyHost } from "./public-host.ts";

export type DestinationRules = {
  /** Whether private addresses and localhost are allowed. */
  allowPrivate: boolean;
  /** The service's own short URL; a link to it would redirect to itself. */
  shortUrl: URL;
  /** All host names of the short domain. */
  ownHosts: ReadonlySet<string>;
};

/** The problem with a destination that is a short link: it could form a redirect loop. */
export const OWN_LINK = "The URL must not be a short link of this service.";

export type ParsedDestination = { original: string; href: string; host: string };

/** Parses a destination; returns the problem, as a sentence, when it is not allowed. */
export function parseDestination(
  text: string,
  rules: DestinationRules,
): ParsedDestination | { problem: string } {
  const parsed = parseWebUrl(text);
  if ("problem" in parsed) return parsed;
  const { original, url, uri } = parsed;
  const problem = findHostProblem(url, rules);
  return problem === undefined
    ? { original, href: uri, host: normalizeHost(url.host) }
    : { problem };
}

function findHostProblem(
  url: URL,
  { allowPrivate, shortUrl, ownHosts }: DestinationRules,
): string | undefined {
  const host = normalizeHost(url.hostname);
  const kind = classifyHost(host);
  // A private host may run other services, so the port must match too.
  if (kind === "private" ? url.host === shortUrl.host : ownHosts.has(host)) return OWN_LINK;
  if (kind === "invalid") return "The URL's host must be a full domain name.";
  return kind === "public" || allowPrivate
    ? undefined
    : "The URL must not point to a private address.";
}
