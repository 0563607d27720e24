/** IP addresses: their groups for limits, lists of blocks, and which are public. */
import { isIP } from "node:net";

import ipaddr from "ipaddr.js";

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
  const ipv6 = parseIpv6(address);
  const ipv4 = findIpv4(ipv6)?.toString();
  if (ipv4 !== undefined) return { network: ipv4, site: ipv4 };
  const [first = 0, second = 0, third = 0, fourth = 0] = ipv6.parts;
  const site = `${first.toString(16)}:${second.toString(16)}:${third.toString(16)}`;
  return { network: `${site}:${fourth.toString(16)}::/64`, site: `${site}::/48` };
}

/** The network of an address, which may be kept: its IPv4 /24, or its IPv6 /48. */
export function networkToKeep(address: string): string {
  const { site } = addressGroups(address);
  return isIP(site) === 4 ? `${site.slice(0, site.lastIndexOf("."))}.0/24` : site;
}

/** How an IPv6 address begins that may embed an IPv4 one; nearly none of clients does. */
const MAY_EMBED = /^(?:0|::|64:)/;

/**
 * The IPv4 address that is embedded in an IPv6 one, in any textual form, as {@link addressGroups}
 * counts it: a proxy that listens for both, and a translating network, send clients of IPv4 so.
 * Undefined for any other text.
 */
export const embeddedIpv4 = (address: string): string | undefined =>
  MAY_EMBED.test(address) && isIP(address) === 6
    ? findIpv4(parseIpv6(address))?.toString()
    : undefined;

/** Blocks with an IPv4 address in the last 32 bits: mapped, and by NAT64 (RFC 6052 §2.1). */
const EMBEDDING = ["::ffff:0:0/96", "64:ff9b::/96"].map((block) => ipaddr.IPv6.parseCIDR(block));

const findIpv4 = (address: ipaddr.IPv6): ipaddr.IPv4 | undefined =>
  EMBEDDING.some((block) => address.match(block))
    ? new ipaddr.IPv4(address.toByteArray().slice(-4))
    : undefined;

/** 32-bit words of an address. */
const WORDS = 4;

/** Bytes of an entry: those of its network, and one for the length of its prefix. */
export const BLOCK_BYTES = 17;
const PREFIX = 16;

const WORD_BITS = 32;
const ADDRESS_BITS = WORDS * WORD_BITS;

const PREFIX_LENGTH = /^\d{1,3}$/;

/**
 * A list of addresses and CIDR blocks, as bytes that a check walks: of each entry the network as an
 * IPv6 address, and the length of its prefix. `BlockList` of `node:net` is slower, and allocates
 * native objects for each entry, which the garbage collector does not see.
 */
export class AddressList {
  readonly #blocks: Buffer;

  /** Throws for the first entry that is neither. */
  constructor(entries: readonly string[]) {
    this.#blocks = Buffer.alloc(entries.length * BLOCK_BYTES);
    entries.forEach((entry, i) => {
      if (!writeBlock(this.#blocks, i * BLOCK_BYTES, entry))
        throw new TypeError(`"${entry}" is neither an address nor a CIDR block`);
    });
  }

  has(address: string): boolean {
    return isInBlocks(this.#blocks, 0, this.#blocks.length, address);
  }
}

/**
 * Writes the words of an address, an IPv4 one as IPv4-mapped (`::ffff:0:0/96`); false if the text
 * is no address.
 */
function writeAddress(words: Uint32Array, text: string): boolean {
  const ipv4 = parseIpv4(text);
  if (ipv4 !== undefined) {
    words.fill(0);
    words[2] = 0xffff;
    words[3] = ipv4;
    return true;
  }
  if (isIP(text) !== 6) return false;
  const halves = parseIpv6(text).parts;
  for (let i = 0; i < WORDS; i++)
    words[i] = (halves[2 * i] ?? 0) * 2 ** 16 + (halves[2 * i + 1] ?? 0);
  return true;
}

const written = new Uint32Array(WORDS);

/** Writes {@link BLOCK_BYTES} for an entry; false if it is neither an address nor a CIDR block. */
export function writeBlock(bytes: Buffer, at: number, entry: string): boolean {
  const slash = entry.indexOf("/");
  const address = slash < 0 ? entry : entry.slice(0, slash);
  if (!writeAddress(written, address)) return false;
  const lengthMax = address.includes(":") ? ADDRESS_BITS : WORD_BITS;
  const length = slash < 0 ? String(lengthMax) : entry.slice(slash + 1);
  if (!PREFIX_LENGTH.test(length) || Number(length) > lengthMax) return false;
  const bits = ADDRESS_BITS - lengthMax + Number(length);
  written.forEach((word, i) => bytes.writeUInt32BE((word & maskOf(bits, i)) >>> 0, at + 4 * i));
  bytes[at + PREFIX] = bits;
  return true;
}

/** Whether an address lies in one of the blocks that {@link writeBlock} wrote one after another. */
export function isInBlocks(bytes: Buffer, start: number, end: number, address: string): boolean {
  if (!remember(address)) return false;
  for (let at = start; at < end; at += BLOCK_BYTES) if (isInBlock(bytes, at)) return true;
  return false;
}

/** Whether a text is an address or a CIDR block. */
export const isBlock = (entry: string): boolean => writeBlock(Buffer.alloc(BLOCK_BYTES), 0, entry);

/**
 * The canonical text of an address or a CIDR block: with its prefix, without bits beyond it, an
 * IPv4-mapped one as IPv4. Undefined for any other text.
 */
export function normalizeBlock(entry: string): string | undefined {
  const bytes = Buffer.alloc(BLOCK_BYTES);
  if (!writeBlock(bytes, 0, entry)) return undefined;
  const network = new ipaddr.IPv6([...bytes.subarray(0, PREFIX)]);
  const bits = bytes[PREFIX] ?? 0;
  const ipv4Bits = bits - (ADDRESS_BITS - WORD_BITS);
  return ipv4Bits >= 0 && network.isIPv4MappedAddress()
    ? `${network.toIPv4Address().toString()}/${ipv4Bits}`
    : `${network.toString()}/${bits}`;
}

/** The bits of a word of an address that belong to a prefix of so many bits. */
function maskOf(bits: number, word: number): number {
  const ones = Math.min(WORD_BITS, Math.max(0, bits - word * WORD_BITS));
  return ones === 0 ? 0 : -1 << (WORD_BITS - ones);
}

function isInBlock(bytes: Buffer, at: number): boolean {
  const bits = bytes[at + PREFIX] ?? 0;
  // From the end, where most addresses differ.
  for (let i = WORDS - 1; i >= 0; i--) {
    const masked = (remembered[i] ?? 0) & maskOf(bits, i);
    if (masked >>> 0 !== bytes.readUInt32BE(at + 4 * i)) return false;
  }
  return true;
}

/**
 * The address that was checked last: a link has up to 200 lists, and a request checks one address
 * against all of them.
 */
const remembered = new Uint32Array(WORDS);
let rememberedText = "";

/** Parses an address, unless it is the last one; false if the text is no address. */
function remember(text: string): boolean {
  if (text === rememberedText && text !== "") return true;
  const isAddress = writeAddress(remembered, text);
  rememberedText = isAddress ? text : "";
  return isAddress;
}

/** Parses a valid IPv6 address; a zone (`%eth0`) is ignored. */
const parseIpv6 = (address: string): ipaddr.IPv6 =>
  ipaddr.IPv6.parse(address.split("%", 1)[0] ?? "");

/**
 * The only block of which IANA has allocated global unicast addresses (IPv6 address space
 * registry).
 */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR("2000::/3");

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
  const ipv4 = findIpv4(address);
  if (ipv4 !== undefined) return isPublic(ipv4);
  return address.match(GLOBAL_UNICAST) && address.range() === "unicast";
}

const DOT = 46;
const ZERO = 48;

/** Parses an IPv4 address in dotted-decimal form to its 32 bits; undefined for any other text. */
export function parseIpv4(text: string): number | undefined {
  let address = 0;
  let part = 0;
  let digits = 0;
  let dots = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === DOT) {
      if (digits === 0) return undefined;
      address = (address << 8) | part;
      [part, digits] = [0, 0];
      dots++;
      continue;
    }
    const digit = code - ZERO;
    // No leading zeros: some programs read them as octal.
    if (digit < 0 || digit > 9 || (digits > 0 && part === 0)) return undefined;
    part = part * 10 + digit;
    if (part > 255) return undefined;
    digits++;
  }
  return dots === 3 && digits > 0 ? ((address << 8) | part) >>> 0 : undefined;
}
