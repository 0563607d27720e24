/** Distinguishes hosts on the public internet from those of private networks. */
import { isIP } from "node:net";

import ipaddr from "ipaddr.js";

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
 * Public domains whose names resolve to the address that they spell, or to the visitor's own
 * machine.
 */
const ADDRESS_DOMAINS = ["nip.io", "sslip.io", "xip.io", "traefik.me", "localtest.me", "lvh.me"];

/**
 * The only block of which IANA has allocated global unicast addresses (IPv6 address space
 * registry).
 */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR("2000::/3");

/** RFC 6052 §2.1: a NAT64 gateway translates these to the IPv4 address in their last 32 bits. */
const NAT64 = ipaddr.IPv6.parseCIDR("64:ff9b::/96");

/** `invalid` is a name that is not fully qualified or not valid in DNS. */
type HostKind = "public" | "private" | "invalid";

/** Classifies the host of a parsed URL, given in lower case and without a trailing dot. */
export function classifyHost(host: string): HostKind {
  const bare = host.replace(/^\[|\]$/g, "");
  if (isIP(bare) !== 0) return isPublicAddress(ipaddr.parse(bare)) ? "public" : "private";
  if (PRIVATE_SUFFIXES.some((suffix) => host === suffix || host.endsWith(`.${suffix}`))) {
    return "private";
  }
  if (ADDRESS_DOMAINS.some((domain) => host.endsWith(`.${domain}`))) return "private";
  return isFullyQualified(host) ? "public" : "invalid";
}

/**
 * Whether an address is ordinary unicast, outside every block of the IANA special-purpose
 * registries. Where an IPv6 address translates to an IPv4 one (mapped, NAT64), the IPv4 address
 * decides. Other forms that embed an IPv4 address (IPv4-compatible, 6to4, Teredo) are deprecated
 * and never public.
 */
function isPublicAddress(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  if (address instanceof ipaddr.IPv4) return address.range() === "unicast";
  if (address.isIPv4MappedAddress()) return isPublicAddress(address.toIPv4Address());
  if (address.match(NAT64)) {
    return isPublicAddress(new ipaddr.IPv4(address.toByteArray().slice(-4)));
  }
  return address.match(GLOBAL_UNICAST) && address.range() === "unicast";
}

function isFullyQualified(host: string): boolean {
  const labels = host.split(".");
  return (
    host.length <= NAME_LENGTH_MAX &&
    labels.length > 1 &&
    labels.every(({ length }) => length > 0 && length <= LABEL_LENGTH_MAX)
  );
}
