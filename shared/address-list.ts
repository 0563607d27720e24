/**
 * Lists of IP addresses and CIDR blocks. A list is one array of numbers, which a check walks.
 * `BlockList` of `node:net` is slower, and allocates native objects for each entry, which the
 * garbage collector does not see.
 */
import { isIP } from "node:net";

import { parseIpv6 } from "./ipv6.ts";
import { parseIpv4 } from "./visitors/mmdb-tree.ts";

/** 32-bit words of an address, and of an entry: those of its network, and of its mask. */
const WORDS = 4;
const ENTRY_WORDS = 2 * WORDS;

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
  const list = new Uint32Array(entries.length * ENTRY_WORDS);
  for (let i = 0; i < entries.length; i++) {
    const entry = entries[i] ?? "";
    if (!writeEntry(list, i * ENTRY_WORDS, entry)) throw onInvalid(entry);
  }
  return (address) => {
    if (!remember(address)) return false;
    for (let at = 0; at < list.length; at += ENTRY_WORDS)
      if (contains(list, at, remembered)) return true;
    return false;
  };
}

/**
 * Writes the words of an address, an IPv4 one as IPv4-mapped (`::ffff:0:0/96`); false if the text
 * is no address.
 */
function writeAddress(words: Uint32Array, at: number, text: string): boolean {
  const ipv4 = parseIpv4(text);
  if (ipv4 !== undefined) {
    words[at] = 0;
    words[at + 1] = 0;
    words[at + 2] = 0xffff;
    words[at + 3] = ipv4;
    return true;
  }
  if (isIP(text) !== 6) return false;
  const halves = parseIpv6(text);
  for (let i = 0; i < WORDS; i++)
    words[at + i] = (halves[2 * i] ?? 0) * 2 ** 16 + (halves[2 * i + 1] ?? 0);
  return true;
}

/**
 * Writes an entry's network and mask; false for a text that is neither an address nor a CIDR block.
 */
function writeEntry(list: Uint32Array, at: number, entry: string): boolean {
  const slash = entry.indexOf("/");
  const address = slash < 0 ? entry : entry.slice(0, slash);
  if (!writeAddress(list, at, address)) return false;
  const lengthMax = address.includes(":") ? ADDRESS_BITS : WORD_BITS;
  const length = slash < 0 ? String(lengthMax) : entry.slice(slash + 1);
  if (!PREFIX_LENGTH.test(length) || Number(length) > lengthMax) return false;
  const bits = ADDRESS_BITS - lengthMax + Number(length);
  for (let i = 0; i < WORDS; i++) {
    const ones = Math.min(WORD_BITS, Math.max(0, bits - i * WORD_BITS));
    const mask = ones === 0 ? 0 : -1 << (WORD_BITS - ones);
    list[at + WORDS + i] = mask;
    list[at + i] = (list[at + i] ?? 0) & mask;
  }
  return true;
}

function contains(list: Uint32Array, at: number, words: Uint32Array): boolean {
  // From the end, where most addresses differ.
  for (let i = WORDS - 1; i >= 0; i--) {
    const masked = (words[i] ?? 0) & (list[at + WORDS + i] ?? 0);
    if (masked >>> 0 !== list[at + i]) return false;
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
  const isAddress = writeAddress(remembered, 0, text);
  rememberedText = isAddress ? text : "";
  return isAddress;
}
