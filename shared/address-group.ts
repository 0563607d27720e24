/**
 * Groups addresses for rate limits. An IPv6 client owns a whole prefix and can use another address of it for each
 * request, so limits apply per prefix, not per address.
 */
import { isIP } from "node:net";

/** The keys by which an address is rate limited, e.g. `2001:db8:0:7::/64` and `2001:db8:0::/48`. */
export type AddressGroups = {
  /**
   * One network: the /64 of an IPv6 address, because a host can use any address of its subnet (RFC 4291 §2.5.1); for
   * IPv4 the address itself.
   */
  network: string;
  /**
   * One subscriber: the /48 of an IPv6 address, the largest block commonly delegated to a site (RFC 6177 §2), for a
   * second, looser limit; for IPv4 the address itself.
   */
  site: string;
};

/** The groups of every text that is not an address, so that such texts cannot create groups. */
const UNKNOWN_GROUPS: AddressGroups = { network: "unknown", site: "unknown" };

/**
 * Returns the groups of an address in any textual form. An IPv4 address embedded in an IPv6 one counts as the IPv4
 * address: IPv4-mapped (`::ffff:0:0/96`) and translated (`64:ff9b::/96`, RFC 6052). Otherwise all of IPv4 would be
 * one network. A zone (`%eth0`) is ignored.
 */
export function addressGroups(address: string): AddressGroups {
  const version = isIP(address);
  if (version === 4) return { network: address, site: address };
  if (version !== 6) return UNKNOWN_GROUPS;
  const words = parseWords(address);
  const ipv4 = findEmbeddedIpv4(words);
  if (ipv4 !== undefined) return { network: ipv4, site: ipv4 };
  const [first = 0, second = 0, third = 0, fourth = 0] = words;
  const site = `${first.toString(16)}:${second.toString(16)}:${third.toString(16)}`;
  return { network: `${site}:${fourth.toString(16)}::/64`, site: `${site}::/48` };
}

/** Parses a valid IPv6 address into its eight 16-bit words. */
function parseWords(address: string): number[] {
  const [bare = ""] = address.split("%");
  const [left = "", right] = bare.split("::");
  const before = parseHexWords(left);
  if (right === undefined) return before;
  const after = parseHexWords(right);
  const zeros = 8 - before.length - after.length;
  return [...before, ...Array<number>(zeros).fill(0), ...after];
}

/** Parses the words on one side of `::`; the last 32 bits may be written as an IPv4 address. */
function parseHexWords(text: string): number[] {
  if (text === "") return [];
  return text.split(":").flatMap((word) => {
    if (!word.includes(".")) return Number.parseInt(word, 16);
    const [a = 0, b = 0, c = 0, d = 0] = word.split(".").map(Number);
    return [a * 256 + b, c * 256 + d];
  });
}

function findEmbeddedIpv4(words: readonly number[]): string | undefined {
  const isMapped = words.slice(0, 5).every((word) => word === 0) && words[5] === 0xffff;
  const isTranslated =
    words[0] === 0x64 && words[1] === 0xff9b && words.slice(2, 6).every((word) => word === 0);
  if (!isMapped && !isTranslated) return undefined;
  const [high = 0, low = 0] = words.slice(6);
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}
