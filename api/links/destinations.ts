/**
 * Destinations: which URLs a link may redirect to. The rules apply to the URL that the WHATWG
 * parser returns, never to the text.
 */
import { isIP } from "node:net";

import { isPublicAddress } from "../../shared/addresses.ts";
import { parseWebUrl } from "../../shared/contracts/web-url.ts";
import { isWithin, normalizeHost } from "../../shared/hosts.ts";
import { ApiError } from "../http/errors.ts";
import type { HostLists } from "./host-lists.ts";

export type DestinationRules = {
  /** Whether private addresses and localhost are allowed. */
  allowPrivate: boolean;
  /** The service's own short URL; a link to it would redirect to itself. */
  shortUrl: URL;
  /** All host names of the short domain. */
  ownHosts: ReadonlySet<string>;
  /** Hosts to which no link may lead, where the operator names lists of them. */
  lists?: HostLists;
};

/** Knows the custom domains of all accounts. */
export interface CustomHosts {
  /** Whether a host is a verified domain of any account, and so serves short links. */
  isCustom(host: string): Promise<boolean>;
}

type Destination = { original: string; href: string; host: string };

/** Parses a destination; throws `invalid_url`. */
export async function requireDestination(
  url: string,
  rules: DestinationRules,
  hosts: CustomHosts,
): Promise<Destination> {
  const destination = parseDestination(url, rules);
  if ("problem" in destination) throw invalidDestination(destination.problem);
  if (await hosts.isCustom(destination.host)) throw invalidDestination(OWN_LINK);
  return destination;
}

const invalidDestination = (problem: string): ApiError =>
  new ApiError("invalid_url", problem, { param: "url" });

/** The problem with a destination that is a short link: it could form a redirect loop. */
const OWN_LINK = "The URL must not be a short link of this service.";

/** Parses a destination; returns the problem, as a sentence, when it is not allowed. */
export function parseDestination(
  text: string,
  rules: DestinationRules,
): Destination | { problem: string } {
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
  { allowPrivate, shortUrl, ownHosts, lists }: DestinationRules,
): string | undefined {
  const host = normalizeHost(url.hostname);
  const kind = classifyHost(host);
  // A private host may run other services, so the port must match too.
  if (kind === "private" ? url.host === shortUrl.host : ownHosts.has(host)) return OWN_LINK;
  if (kind === "invalid") return "The URL's host must be a full domain name.";
  if (lists?.find(host) !== undefined)
    return "The URL's host is on a list of hosts to which this service does not lead.";
  return kind === "public" || allowPrivate
    ? undefined
    : "The URL must not point to a private address.";
}

/** RFC 1035 §2.3.4: 255 octets on the wire are 253 characters; a label has at most 63. */
const NAME_LENGTH_MAX = 253;
const LABEL_LENGTH_MAX = 63;

/**
 * Suffixes of names that never resolve on the public internet, but may within a private network:
 * from the IANA registry of special-use domain names, ICANN's `internal` (cloud providers have
 * metadata services there), RFC 6762 appendix G, and Kubernetes' `svc`. `example` is not listed: it
 * is for documentation, and resolves nowhere.
 */
const PRIVATE_SUFFIXES = [
  "localhost",
  "localdomain",
  "local",
  "home.arpa",
  "internal",
  "intranet",
  "private",
  "corp",
  "home",
  "lan",
  "svc",
  "test",
  "invalid",
  "onion",
  "alt",
];

/**
 * Public domains of which names resolve to the address that they spell, or to the visitor's own
 * machine: some of them do so themselves.
 */
const ADDRESS_DOMAINS = [
  "nip.io",
  "sslip.io",
  "xip.io",
  "xip.name",
  "backname.io",
  "traefik.me",
  "localtest.me",
  "lvh.me",
  "vcap.me",
  "lacolhost.com",
  "localho.st",
  "lndo.site",
  "ddev.site",
  "local.gd",
  "1u.ms",
  "rbndr.us",
];

const NOT_PUBLIC: ReadonlySet<string> = new Set([...PRIVATE_SUFFIXES, ...ADDRESS_DOMAINS]);

/** `invalid` is a name that is not fully qualified or not valid in DNS. */
type HostKind = "public" | "private" | "invalid";

/** Classifies the host of a parsed URL, given in lower case and without a trailing dot. */
export function classifyHost(host: string): HostKind {
  const bare = host.replace(/^\[|\]$/g, "");
  if (isIP(bare) !== 0) return isPublicAddress(bare) ? "public" : "private";
  if (isWithin(NOT_PUBLIC, host)) return "private";
  return isFullyQualified(host) ? "public" : "invalid";
}

function isFullyQualified(host: string): boolean {
  const labels = host.split(".");
  return (
    host.length <= NAME_LENGTH_MAX &&
    labels.length > 1 &&
    labels.every(({ length }) => length > 0 && length <= LABEL_LENGTH_MAX)
  );
}
