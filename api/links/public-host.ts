/** Distinguishes hosts on the public internet from those of private networks. */
import { isIP } from "node:net";

import { isPublicAddress } from "../../shared/addresses.ts";
import { isWithin } from "../../shared/hosts.ts";

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
