/**
 * Groups addresses for rate limits, unique visitors and arms of splits. An IPv6 client owns a whole
 * prefix and can use another address of it for each request, so the prefix stands for it.
 */
import { isIP } from "node:net";

import { parseIpv6 } from "./ipv6.ts";

/** The keys by which an address is rate limited, e.g. `2001:db8:0:7::/64` and `2001:db8:0::/48`. */
export type AddressGroups = {
  /**
   * One network: the /64 of an IPv6 address, because a host can use any address of its subnet (RFC
   * 4291 §2.5.1); for IPv4 the address itself.
   */
  network: string;
  /**
   * One subscriber: the /48 of an IPv6 address, the largest block commonly delegated to a site (RFC
   * 6177 §2), for a second, looser limit; for IPv4 the address itself.
   */
  site: string;
};

/** The groups of every text that is not an address, so that such texts cannot create groups. */
const UNKNOWN_GROUPS: AddressGroups = { network: "unknown", site: "unknown" };

/**
 * Returns the groups of an address in any textual form. An IPv4 address embedded in an IPv6 one
 * counts as the IPv4 address: IPv4-mapped (`::ffff:0:0/96`) and translated (`64:ff9b::/96`, RFC
 * 6052). Otherwise all of IPv4 would be one network. A zone (`%eth0`) is ignored.
 */
export function addressGroups(address: string): AddressGroups {
  const version = isIP(address);
  if (version === 4) return { network: address, site: address };
  if (version !== 6) return UNKNOWN_GROUPS;
  const words = parseIpv6(address);
  const ipv4 = findEmbeddedIpv4(words);
  if (ipv4 !== undefined) return { network: ipv4, site: ipv4 };
  const [first = 0, second = 0, third = 0, fourth = 0] = words;
  const site = `${first.toString(16)}:${second.toString(16)}:${third.toString(16)}`;
  return { network: `${site}:${fourth.toString(16)}::/64`, site: `${site}::/48` };
}

function findEmbeddedIpv4(words: readonly number[]): string | undefined {
  const isMapped = words.slice(0, 5).every((word) => word === 0) && words[5] === 0xffff;
  const isTranslated =
    words[0] === 0x64 && words[1] === 0xff9b && words.slice(2, 6).every((word) => word === 0);
  if (!isMapped && !isTranslated) return undefined;
  const [high = 0, low = 0] = words.slice(6);
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}
