/**
 * The links in memory, within a bound of bytes; the newest state wins. States are written one behind the
 * other into segments of memory, and a table says where each is: a log-structured memory (Rumble et al.,
 * FAST 2014), which is nothing to the garbage collector, and for a redirect two places to look at.
 *
 * A segment is cleaned by writing what is still of use in it anew, the oldest segment first. When memory is
 * full, cleaning drops what nobody has asked for since it was written: the clock algorithm (Corbató, 1968).
 */
import { randomInt } from "node:crypto";

import type { Span } from "../../shared/bytes.ts";
import type { LinkRecord } from "../../shared/contracts/link-record.ts";
import {
  ALIGNMENT,
  type CachedLink,
  isUsed,
  KEY,
  keyEnd,
  keyOf,
  newLink,
  readLink,
  readRecord,
  setUsed,
  sizeAt,
  sizeOf,
  versionAt,
  writeRecord,
} from "./record.ts";
import { createTable, entriesWithin } from "./table.ts";

export type LinkCache = {
  /**
   * The link at a path such as `/abc`, null when it is known to be deleted, undefined when it is not in
   * memory. A link is good until the cache is next used: `keepLink` makes one that stays.
   */
  get(domain: string, bytes: Buffer, path: Span): CachedLink | null | undefined;
  /** Takes a state in unless a newer one is there. */
  put(record: LinkRecord): void;
  /** Takes a state in if the short link is in memory already, or there is room. */
  update(record: LinkRecord): void;
  /** Every state in memory, as the feed told it. */
  records(): Iterable<LinkRecord>;
  clear(): void;
  /** States in memory, and the bytes that are taken for them. */
  stats(): { entries: number; bytes: number };
};

/** No record is longer than its message in the feed. Cleaning one segment takes some 0.1 ms. */
const SEGMENT_BYTES = 64 * 1024;

/** A place is a segment's number, and where in the segment, in units of the alignment. */
const PLACE_BITS = Math.log2(SEGMENT_BYTES / ALIGNMENT);
const PLACE_MASK = 2 ** PLACE_BITS - 1;
const placeOf = (number: number, at: number): number => (number << PLACE_BITS) | (at / ALIGNMENT);
const offsetAt = (place: number): number => (place & PLACE_MASK) * ALIGNMENT;

/** The most bytes that places reach. */
export const CACHE_BYTES_LIMIT = 2 ** 31 * ALIGNMENT;

/** Cleaning needs somewhere to write to: full memory has so many segments left. */
const SPARE = 1;

/** The part of the bound that the table may take, so that the smallest of records fill the segments too. */
const TABLE_SHARE = 1 / 8;

/** Segments cleaned for a new one: on average half of each is free again where this is done. */
const CLEANED_FOR_ONE = 2;

/**
 * The part of the memory that may be in use before something has to go, and beyond which links that nobody
 * asked for are not taken in: the rest is what cleaning finds, and the less there is of it the more often
 * it is done.
 */
const IN_USE_MAX = 3 / 4;

/** Segments cleaned in one go before something in use has to go after all. */
const CLEANED_MAX = 8;

/** A domain name has 253 characters at most (RFC 1035), an alias 64. */
const KEY_BYTES_MAX = 512;

/** What is written, up to `end`. */
type Segment = { number: number; bytes: Buffer; end: number };

export function createLinkCache(bytesMax: number): LinkCache {
  const segmentsMax =
    Math.max(4, Math.floor((bytesMax * (1 - TABLE_SHARE)) / SEGMENT_BYTES)) - SPARE;
  const entriesMax = entriesWithin(bytesMax * TABLE_SHARE);
  const table = createTable();
  /** By number, whether in use or not. */
  const memory: Buffer[] = [];
  const unused: number[] = [];
  /** The oldest first; the last is being written. */
  const segments = new Set<Segment>();
  let last = begin();
  /** Bytes of the records that the table points to. */
  let live = 0;
  const link = newLink();
  const key = Buffer.alloc(KEY_BYTES_MAX);

  function begin(): Segment {
    const number = unused.pop() ?? memory.length;
    const bytes = (memory[number] ??= Buffer.allocUnsafeSlow(SEGMENT_BYTES));
    const segment = { number, bytes, end: 0 };
    segments.add(segment);
    return segment;
  }

  const bytesAt = (place: number): Buffer => memory[place >>> PLACE_BITS] ?? last.bytes;

  /** The slot of a key: of `domain`, and what follows in `bytes`. */
  function find(domain: string, bytes: Buffer, start: number, end: number): number {
    const hash = hashOf(domain, bytes, start, end);
    let slot = table.first(hash);
    while (slot >= 0 && !isKeyOf(table.placeAt(slot), domain, bytes, start, end)) {
      slot = table.next(slot);
    }
    return slot;
  }

  function isKeyOf(
    place: number,
    domain: string,
    bytes: Buffer,
    start: number,
    end: number,
  ): boolean {
    const known = bytesAt(place);
    let at = offsetAt(place);
    const knownEnd = keyEnd(known, at);
    at += KEY;
    if (knownEnd - at !== domain.length + end - start) return false;
    for (let i = 0; i < domain.length; i++) if (known[at++] !== domain.charCodeAt(i)) return false;
    for (let i = start; i < end; i++) if (known[at++] !== bytes[i]) return false;
    return true;
  }

  const findKey = (record: LinkRecord): number => find("", key, 0, key.write(keyOf(record)));

  const isFull = (): boolean => segments.size >= segmentsMax || table.size() >= entriesMax;

  const hasRoom = (): boolean =>
    live < segmentsMax * SEGMENT_BYTES * IN_USE_MAX && table.size() < entriesMax * IN_USE_MAX;

  /** Makes room for another segment, and for another entry. */
  function makeRoom(): void {
    for (let cleaned = 0; segments.size > 2; cleaned++) {
      const total = segments.size * SEGMENT_BYTES;
      const full = isFull();
      if (!full && (live >= total / 2 || cleaned >= CLEANED_FOR_ONE)) return;
      clean(full && (!hasRoom() || cleaned >= CLEANED_MAX));
    }
  }

  /**
   * Writes what is of use in the oldest segment anew. When `dropping`, that is what was used, which is then
   * to be used again to stay, and no more than half a segment, so that there is more room afterwards.
   */
  function clean(dropping: boolean): void {
    const [oldest = last] = segments;
    segments.delete(oldest);
    let chances = SEGMENT_BYTES / 2;
    const { bytes, end } = oldest;
    for (let at = 0, size = 0; at < end; at += size) {
      size = sizeAt(bytes, at);
      const slot = slotOf(oldest, at);
      if (slot < 0) continue;
      if (dropping) {
        if (!isUsed(bytes, at) || chances < size) {
          table.remove(slot);
          live -= size;
          continue;
        }
        chances -= size;
        setUsed(bytes, at, false);
      }
      const place = reserve(size);
      bytes.copy(bytesAt(place), offsetAt(place), at, at + size);
      table.move(slot, place);
    }
    unused.push(oldest.number);
  }

  /** The slot that points to a record; -1 when there is a newer one. */
  function slotOf({ number, bytes }: Segment, at: number): number {
    const place = placeOf(number, at);
    let slot = table.first(hashAt(bytes, at));
    while (slot >= 0 && table.placeAt(slot) !== place) slot = table.next(slot);
    return slot;
  }

  function reserve(size: number): number {
    if (last.end + size > SEGMENT_BYTES) last = begin();
    const { number, end } = last;
    last.end += size;
    return placeOf(number, end);
  }

  function put(record: LinkRecord): void {
    const size = sizeOf(record);
    if (size > SEGMENT_BYTES || keyOf(record).length > KEY_BYTES_MAX) return;
    if (last.end + size > SEGMENT_BYTES || table.size() >= entriesMax) makeRoom();
    const slot = findKey(record);
    const present = slot < 0 ? undefined : table.placeAt(slot);
    if (present !== undefined && versionAt(bytesAt(present), offsetAt(present)) >= record.version)
      return;
    const place = reserve(size);
    const [bytes, at] = [bytesAt(place), offsetAt(place)];
    writeRecord(bytes, at, record);
    live += size;
    if (present === undefined) {
      table.insert(hashAt(bytes, at), place);
      return;
    }
    setUsed(bytes, at, isUsed(bytesAt(present), offsetAt(present)));
    live -= sizeAt(bytesAt(present), offsetAt(present));
    table.move(slot, place);
  }

  return {
    get(domain, bytes, { start, end }) {
      if (domain.length + end - start > KEY_BYTES_MAX) return undefined;
      const slot = find(domain, bytes, start, end);
      if (slot < 0) return undefined;
      const place = table.placeAt(slot);
      const known = bytesAt(place);
      const at = offsetAt(place);
      setUsed(known, at, true);
      return readLink(known, at, link);
    },
    put,
    update(record) {
      if (hasRoom() || findKey(record) >= 0) put(record);
    },
    *records() {
      // What is written anew meanwhile comes last: beyond those that were there, all is known already.
      let left = table.size();
      for (const segment of segments) {
        for (let at = 0, size = 0; at < segment.end && segments.has(segment); at += size) {
          size = sizeAt(segment.bytes, at);
          if (slotOf(segment, at) < 0) continue;
          if (left-- === 0) return;
          yield readRecord(segment.bytes, at);
        }
      }
    },
    clear() {
      for (const { number } of segments) unused.push(number);
      segments.clear();
      table.clear();
      live = 0;
      last = begin();
    },
    stats: () => ({
      entries: table.size(),
      bytes: memory.length * SEGMENT_BYTES + table.bytes(),
    }),
  };
}

/** Random, so that nobody can choose aliases that all end in one place. */
const SEED = randomInt(2 ** 32 - 1) | 0;

/** FNV-1a (Fowler, Noll, Vo), and MurmurHash3's last step (Appleby) to bring the high bits down. */
function hashOf(domain: string, bytes: Buffer, start: number, end: number): number {
  let hash = SEED;
  for (let i = 0; i < domain.length; i++) {
    hash = Math.imul(hash ^ domain.charCodeAt(i), 0x01000193);
  }
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ (bytes[i] ?? 0), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return hash ^ (hash >>> 13);
}

/** The hash of the key of the record at `at`. */
const hashAt = (bytes: Buffer, at: number): number =>
  hashOf("", bytes, at + KEY, keyEnd(bytes, at));
