/**
 * Maps the hash of a key to the offset of its record: a hash table with open addressing and linear
 * probing (Knuth, The Art of Computer Programming 3, §6.4, algorithms L and R). A slot holds a hash
 * and an offset, so a lookup touches one cache line and growing reads no record. The index does not
 * store keys: it returns the slots of a hash one by one, and the caller compares the keys.
 */

const SLOTS_MIN = 1_024;

/**
 * Numbers in a slot: a hash, and a tag, which is the offset plus 1; the tag 0 marks an empty slot.
 */
const SLOT_NUMBERS = 2;
const SLOT_BYTES = SLOT_NUMBERS * Int32Array.BYTES_PER_ELEMENT;

export type HashIndex = {
  /** The first slot of a hash, or -1. */
  find(hash: number): number;
  /** The next slot with the same hash, or -1. */
  findNext(slot: number): number;
  offsetAt(slot: number): number;
  insert(hash: number, offset: number): void;
  /** Changes the offset in a slot. */
  move(slot: number, offset: number): void;
  /** Removes an entry. Invalidates all slots returned before. */
  remove(slot: number): void;
  /** Removes all entries. */
  clear(): void;
  size(): number;
  bytes(): number;
};

/** Maximum entries of an index of at most `bytes`: it doubles when it is half full. */
export const entriesThatFit = (bytes: number): number =>
  Math.max(SLOTS_MIN, 2 ** Math.floor(Math.log2(bytes / SLOT_BYTES))) / 2;

/** Creates an index of offsets from 0 to 2³¹ - 2. */
export function createHashIndex(): HashIndex {
  let slots = new Int32Array(SLOTS_MIN * SLOT_NUMBERS);
  let mask = SLOTS_MIN - 1;
  let size = 0;

  const hashAt = (slot: number): number => slots[slot * SLOT_NUMBERS] ?? 0;
  const tagAt = (slot: number): number => slots[slot * SLOT_NUMBERS + 1] ?? 0;

  function set(slot: number, hash: number, tag: number): void {
    slots[slot * SLOT_NUMBERS] = hash;
    slots[slot * SLOT_NUMBERS + 1] = tag;
  }

  function findFrom(start: number, hash: number): number {
    for (let slot = start; tagAt(slot) !== 0; slot = (slot + 1) & mask) {
      if (hashAt(slot) === hash) return slot;
    }
    return -1;
  }

  function insertTag(hash: number, tag: number): void {
    let slot = hash & mask;
    while (tagAt(slot) !== 0) slot = (slot + 1) & mask;
    set(slot, hash, tag);
  }

  function grow(): void {
    const oldSlots = slots;
    slots = new Int32Array(oldSlots.length * 2);
    mask = slots.length / SLOT_NUMBERS - 1;
    for (let i = 0; i < oldSlots.length; i += SLOT_NUMBERS) {
      const tag = oldSlots[i + 1] ?? 0;
      if (tag !== 0) insertTag(oldSlots[i] ?? 0, tag);
    }
  }

  return {
    find: (hash) => findFrom(hash & mask, hash),
    findNext: (slot) => findFrom((slot + 1) & mask, hashAt(slot)),
    offsetAt: (slot) => tagAt(slot) - 1,
    insert(hash, offset) {
      if (++size > (mask + 1) / 2) grow();
      insertTag(hash, offset + 1);
    },
    move: (slot, offset) => void (slots[slot * SLOT_NUMBERS + 1] = offset + 1),
    remove(slot) {
      size--;
      // Moves later entries of the run into the gap, unless that would put one before its home
      // slot.
      let gap = slot;
      for (let next = (gap + 1) & mask; tagAt(next) !== 0; next = (next + 1) & mask) {
        const distanceFromHome = (next - hashAt(next)) & mask;
        if (distanceFromHome < ((next - gap) & mask)) continue;
        set(gap, hashAt(next), tagAt(next));
        gap = next;
      }
      set(gap, 0, 0);
    },
    clear() {
      slots = new Int32Array(SLOTS_MIN * SLOT_NUMBERS);
      mask = SLOTS_MIN - 1;
      size = 0;
    },
    size: () => size,
    bytes: () => slots.byteLength,
  };
}
