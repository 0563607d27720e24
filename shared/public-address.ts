/** Distinguishes addresses of the public internet from private and special-purpose ones. */
import ipaddr from "ipaddr.js";

/**
 * The only block of which IANA has allocated global unicast addresses (IPv6 address space
 * registry).
 */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR("2000::/3");

/** RFC 6052 §2.1: a NAT64 gateway translates these to the IPv4 address in their last 32 bits. */
const NAT64 = ipaddr.IPv6.parseCIDR("64:ff9b::/96");

/**
 * Addresses of public blocks at which a cloud answers its own machines: Azure's platform (DNS,
 * DHCP, the guest agent's configuration). Other clouds have theirs in special-purpose blocks.
 */
const CLOUD_PLATFORMS: ReadonlySet<string> = new Set(["168.63.129.16"]);

/**
 * Whether an address is ordinary unicast, outside every block of the IANA special-purpose
 * registries, and not that of a cloud's platform. Where an IPv6 address translates to an IPv4 one
 * (mapped, NAT64), the IPv4 address decides. Other forms that embed an IPv4 address
 * (IPv4-compatible, 6to4, Teredo) are deprecated and never public. Throws for a text that is no
 * address.
 */
export const isPublicAddress = (address: string): boolean => isPublic(ipaddr.parse(address));

function isPublic(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  if (address instanceof ipaddr.IPv4)
    return address.range() === "unicast" && !CLOUD_PLATFORMS.has(address.toString());
  if (address.isIPv4MappedAddress()) return isPublic(address.toIPv4Address());
  if (address.match(NAT64)) {
    return isPublic(new ipaddr.IPv4(address.toByteArray().slice(-4)));
  }
  return address.match(GLOBAL_UNICAST) && address.range() === "unicast";
}
