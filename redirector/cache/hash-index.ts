/**
 * Maps a key to the offset of its record: a hash table with open addressing and linear probing
 * (Knuth, The Art of Computer Programming 3, §6.4, algorithms L and R). A slot holds a hash and an
 * offset, so a lookup touches one cache line and growing reads no record. The index does not store
 * keys: of the slots of a hash it compares those of the records.
 */

import { randomInt } from "node:crypto";

import { KEY, keyEnd } from "../../shared/links-store/record.ts";
import { type Block, type Blocks, offsetInBlock, toOffset } from "./blocks.ts";

const SLOTS_MIN = 1_024;

/**
 * Numbers in a slot: a hash, and a tag, which is the offset plus 1; the tag 0 marks an empty slot.
 */
const SLOT_NUMBERS = 2;
const SLOT_BYTES = SLOT_NUMBERS * Int32Array.BYTES_PER_ELEMENT;

/** Maximum entries of an index of at most `bytes`: it doubles when it is half full. */
export const entriesThatFit = (bytes: number): number =>
  Math.max(SLOTS_MIN, 2 ** Math.floor(Math.log2(bytes / SLOT_BYTES))) / 2;

/** A domain name has at most 253 bytes (RFC 1035), an alias `ALIAS_BYTES_MAX`. */
export const KEY_BYTES_MAX = 512;

/**
 * Finds records in blocks by their keys: a domain, and the bytes of a path. Offsets are from 0 to
 * 2³¹ - 2.
 */
export class KeyIndex {
  /** Memory for a key as text. */
  readonly key = Buffer.alloc(KEY_BYTES_MAX);
  readonly #blocks: Blocks;
  #slots = new Int32Array(SLOTS_MIN * SLOT_NUMBERS);
  #mask = SLOTS_MIN - 1;
  #size = 0;

  constructor(blocks: Blocks) {
    this.#blocks = blocks;
  }

  /** The slot of a key: `domain` and then the bytes from `start` to `end`; -1 for none. */
  findKey(domain: string, bytes: Buffer, start: number, end: number): number {
    let slot = this.#find(hashOf(domain, bytes, start, end));
    while (slot >= 0 && !this.#hasKey(this.offsetAt(slot), domain, bytes, start, end)) {
      slot = this.#findNext(slot);
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
    let slot = this.#find(hashAt(bytes, at));
    while (slot >= 0 && this.offsetAt(slot) !== offset) slot = this.#findNext(slot);
    return slot;
  }

  offsetAt(slot: number): number {
    return this.#tagAt(slot) - 1;
  }

  /** Adds the record at an offset. */
  add(offset: number): void {
    if (++this.#size > (this.#mask + 1) / 2) this.#grow();
    this.#insertTag(hashAt(this.#blocks.bytesAt(offset), offsetInBlock(offset)), offset + 1);
  }

  move(slot: number, offset: number): void {
    this.#slots[slot * SLOT_NUMBERS + 1] = offset + 1;
  }

  /** Removes an entry. Invalidates all slots returned before. */
  remove(slot: number): void {
    this.#size--;
    // Moves later entries of the run into the gap, unless that would put one before its home slot.
    let gap = slot;
    const mask = this.#mask;
    for (let next = (gap + 1) & mask; this.#tagAt(next) !== 0; next = (next + 1) & mask) {
      const distanceFromHome = (next - this.#hashAt(next)) & mask;
      if (distanceFromHome < ((next - gap) & mask)) continue;
      this.#set(gap, this.#hashAt(next), this.#tagAt(next));
      gap = next;
    }
    this.#set(gap, 0, 0);
  }

  clear(): void {
    this.#slots = new Int32Array(SLOTS_MIN * SLOT_NUMBERS);
    this.#mask = SLOTS_MIN - 1;
    this.#size = 0;
  }

  get size(): number {
    return this.#size;
  }

  get bytes(): number {
    return this.#slots.byteLength;
  }

  /** The first slot of a hash, or -1. */
  #find(hash: number): number {
    return this.#findFrom(hash & this.#mask, hash);
  }

  /** The next slot with the same hash, or -1. */
  #findNext(slot: number): number {
    return this.#findFrom((slot + 1) & this.#mask, this.#hashAt(slot));
  }

  #findFrom(start: number, hash: number): number {
    const slots = this.#slots;
    const mask = this.#mask;
    for (let slot = start; slots[slot * SLOT_NUMBERS + 1] !== 0; slot = (slot + 1) & mask) {
      if (slots[slot * SLOT_NUMBERS] === hash) return slot;
    }
    return -1;
  }

  #insertTag(hash: number, tag: number): void {
    let slot = hash & this.#mask;
    while (this.#tagAt(slot) !== 0) slot = (slot + 1) & this.#mask;
    this.#set(slot, hash, tag);
  }

  #grow(): void {
    const oldSlots = this.#slots;
    this.#slots = new Int32Array(oldSlots.length * 2);
    this.#mask = this.#slots.length / SLOT_NUMBERS - 1;
    for (let i = 0; i < oldSlots.length; i += SLOT_NUMBERS) {
      const tag = oldSlots[i + 1] ?? 0;
      if (tag !== 0) this.#insertTag(oldSlots[i] ?? 0, tag);
    }
  }

  #hashAt(slot: number): number {
    return this.#slots[slot * SLOT_NUMBERS] ?? 0;
  }

  #tagAt(slot: number): number {
    return this.#slots[slot * SLOT_NUMBERS + 1] ?? 0;
  }

  #set(slot: number, hash: number, tag: number): void {
    this.#slots[slot * SLOT_NUMBERS] = hash;
    this.#slots[slot * SLOT_NUMBERS + 1] = tag;
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

/** FNV-1a (Fowler, Noll, Vo); MurmurHash3's last step (Appleby) mixes high bits into low ones. */
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
