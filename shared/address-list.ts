/**
 * Lists of IP addresses and CIDR blocks, as bytes that a check walks: of each entry the network as
 * an IPv6 address, and the length of its prefix. `BlockList` of `node:net` is slower, and allocates
 * native objects for each entry, which the garbage collector does not see.
 */
import { isIP } from "node:net";

import { parseIpv6 } from "./ipv6.ts";
import { parseIpv4 } from "./visitors/mmdb-tree.ts";

/** 32-bit words of an address. */
const WORDS = 4;

/** Bytes of an entry: those of its network, and one for the length of its prefix. */
export const BLOCK_BYTES = 17;
const PREFIX = 16;

const WORD_BITS = 32;
const ADDRESS_BITS = WORDS * WORD_BITS;

const PREFIX_LENGTH = /^\d{1,3}$/;

/**
 * Compiles a list of addresses and CIDR blocks. Throws for the first entry that is neither, by
 * `onInvalid`.
 */
export function createAddressList(
  entries: readonly string[],
  onInvalid: (entry: string) => Error,
): (address: string) => boolean {
  const list = Buffer.alloc(entries.length * BLOCK_BYTES);
  entries.forEach((entry, i) => {
    if (!writeBlock(list, i * BLOCK_BYTES, entry)) throw onInvalid(entry);
  });
  return (address) => isInBlocks(list, 0, list.length, address);
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
  const halves = parseIpv6(text);
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
