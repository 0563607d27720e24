/**
 * Where the record of each key is: a hash table by open addressing with linear probing (Knuth, The Art
 * of Computer Programming 3, §6.4, algorithms L and R). A slot is a hash beside a place, so that a look
 * touches one line of memory, and growing touches no record. Keys are the caller's: the table gives
 * those that have a hash, one by one.
 */

const SLOTS_MIN = 1_024;

/** Numbers a slot takes: a hash, and a place plus 1, so that 0 is an empty slot. */
const WIDTH = 2;
const SLOT_BYTES = WIDTH * Int32Array.BYTES_PER_ELEMENT;

export type Table = {
  /** The first slot of a hash, or -1. */
  first(hash: number): number;
  /** The next slot of the same hash, or -1. */
  next(slot: number): number;
  placeAt(slot: number): number;
  insert(hash: number, place: number): void;
  move(slot: number, place: number): void;
  /** Removes an entry; slots that were given before mean nothing any more. */
  remove(slot: number): void;
  clear(): void;
  size(): number;
  bytes(): number;
};

/** The most entries of a table of at most `bytes`: it doubles when it is half full. */
export const entriesWithin = (bytes: number): number =>
  Math.max(SLOTS_MIN, 2 ** Math.floor(Math.log2(bytes / SLOT_BYTES))) / 2;

/** Places are 0 to 2³¹ - 2. */
export function createTable(): Table {
  let slots = new Int32Array(SLOTS_MIN * WIDTH);
  let mask = SLOTS_MIN - 1;
  let size = 0;

  const hashAt = (slot: number): number => slots[slot * WIDTH] ?? 0;
  const markAt = (slot: number): number => slots[slot * WIDTH + 1] ?? 0;

  function set(slot: number, hash: number, mark: number): void {
    slots[slot * WIDTH] = hash;
    slots[slot * WIDTH + 1] = mark;
  }

  function seek(from: number, hash: number): number {
    for (let slot = from; markAt(slot) !== 0; slot = (slot + 1) & mask) {
      if (hashAt(slot) === hash) return slot;
    }
    return -1;
  }

  function place(hash: number, mark: number): void {
    let slot = hash & mask;
    while (markAt(slot) !== 0) slot = (slot + 1) & mask;
    set(slot, hash, mark);
  }

  function grow(): void {
    const before = slots;
    slots = new Int32Array(before.length * 2);
    mask = slots.length / WIDTH - 1;
    for (let at = 0; at < before.length; at += WIDTH) {
      const mark = before[at + 1] ?? 0;
      if (mark !== 0) place(before[at] ?? 0, mark);
    }
  }

  return {
    first: (hash) => seek(hash & mask, hash),
    next: (slot) => seek((slot + 1) & mask, hashAt(slot)),
    placeAt: (slot) => markAt(slot) - 1,
    insert(hash, to) {
      if (++size > (mask + 1) / 2) grow();
      place(hash, to + 1);
    },
    move: (slot, to) => void (slots[slot * WIDTH + 1] = to + 1),
    remove(slot) {
      size--;
      // What follows moves up, unless it would come to stand before where its search begins.
      let gap = slot;
      for (let at = (gap + 1) & mask; markAt(at) !== 0; at = (at + 1) & mask) {
        const fromHome = (at - hashAt(at)) & mask;
        if (fromHome < ((at - gap) & mask)) continue;
        set(gap, hashAt(at), markAt(at));
        gap = at;
      }
      set(gap, 0, 0);
    },
    clear() {
      slots = new Int32Array(SLOTS_MIN * WIDTH);
      mask = SLOTS_MIN - 1;
      size = 0;
    },
    size: () => size,
    bytes: () => slots.byteLength,
  };
}
