/** Finds records in blocks by their keys: a domain, and the bytes of a path. */
import { randomInt } from "node:crypto";

import { KEY, keyEnd } from "../../shared/links-store/record.ts";
import { type Block, type Blocks, offsetInBlock, toOffset } from "./blocks.ts";
import { HashIndex } from "./hash-index.ts";

/** A domain name has at most 253 characters (RFC 1035), an alias 64. */
export const KEY_BYTES_MAX = 512;

export class KeyIndex extends HashIndex {
  /** Memory for a key as text. */
  readonly key = Buffer.alloc(KEY_BYTES_MAX);
  readonly #blocks: Blocks;

  constructor(blocks: Blocks) {
    super();
    this.#blocks = blocks;
  }

  /**
   * Finds the slot of a key, which is `domain` followed by the bytes from `start` to `end`; -1 for
   * none.
   */
  findKey(domain: string, bytes: Buffer, start: number, end: number): number {
    let slot = this.find(hashOf(domain, bytes, start, end));
    while (slot >= 0 && !this.#hasKey(this.offsetAt(slot), domain, bytes, start, end)) {
      slot = this.findNext(slot);
    }
    return slot;
  }

  /** As `findKey`, by the key as text. */
  findText(text: string): number {
    return this.findKey("", this.key, 0, this.key.write(text));
  }

  /** The slot that points to the record at `at` of a block; -1 when the record is not live. */
  findRecord({ number, bytes }: Block, at: number): number {
    const offset = toOffset(number, at);
    let slot = this.find(hashAt(bytes, at));
    while (slot >= 0 && this.offsetAt(slot) !== offset) slot = this.findNext(slot);
    return slot;
  }

  /** Adds the record at an offset. */
  add(offset: number): void {
    this.insert(hashAt(this.#blocks.bytesAt(offset), offsetInBlock(offset)), offset);
  }

  #hasKey(offset: number, domain: string, bytes: Buffer, start: number, end: number): boolean {
    const block = this.#blocks.bytesAt(offset);
    let at = offsetInBlock(offset);
    const storedEnd = keyEnd(block, at);
    at += KEY;
    if (storedEnd - at !== domain.length + end - start) return false;
    for (let i = 0; i < domain.length; i++) if (block[at++] !== domain.charCodeAt(i)) return false;
    for (let i = start; i < end; i++) if (block[at++] !== bytes[i]) return false;
    return true;
  }
}

/** Random, so that an attacker cannot choose aliases that all collide. */
const SEED = randomInt(2 ** 32 - 1) | 0;

/**
 * FNV-1a (Fowler, Noll, Vo), then MurmurHash3's last step (Appleby) to mix the high bits into the
 * low ones.
 */
function hashOf(domain: string, bytes: Buffer, start: number, end: number): number {
  let hash = SEED;
  for (let i = 0; i < domain.length; i++) {
    hash = Math.imul(hash ^ domain.charCodeAt(i), 0x01000193);
  }
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ (bytes[i] ?? 0), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return hash ^ (hash >>> 13);
}

/** Hashes the key of the record at `at`. */
const hashAt = (bytes: Buffer, at: number): number =>
  hashOf("", bytes, at + KEY, keyEnd(bytes, at));
