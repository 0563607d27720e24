import { expect, test } from "bun:test";

import fc from "fast-check";

import { casesOf } from "../../test/harness/property-runs.ts";
import { entriesThatFit, HashIndex } from "./hash-index.ts";

test("the index has the entries that were inserted and not removed, however hashes collide", () => {
  const anyOperation = fc.record({
    kind: fc.constantFrom("insert", "insert", "insert", "remove", "move"),
    // Adjacent and repeated hashes, also across the end of the slots.
    hash: fc.oneof(fc.integer({ min: -9, max: 9 }), fc.integer()),
    pick: fc.nat(),
  });
  fc.assert(
    fc.property(fc.array(anyOperation, { maxLength: 1_500, size: "max" }), (operations) => {
      const index = new HashIndex();
      const model = new Map<number, number>();
      let next = 0;
      const findSlot = (offset: number) => {
        let slot = index.find(model.get(offset) ?? 0);
        while (slot >= 0 && index.offsetAt(slot) !== offset) slot = index.findNext(slot);
        return slot;
      };
      for (const { kind, hash, pick } of operations) {
        if (kind === "insert") {
          model.set(next, hash);
          index.insert(hash, next++);
          continue;
        }
        const [offset, known] = [...model][pick % Math.max(1, model.size)] ?? [];
        if (offset === undefined || known === undefined) continue;
        if (kind === "remove") index.remove(findSlot(offset));
        else index.move(findSlot(offset), next);
        model.delete(offset);
        if (kind === "move") model.set(next++, known);
      }
      for (const offset of model.keys()) expect(findSlot(offset)).toBeGreaterThanOrEqual(0);
      const found = (hash: number) => {
        const offsets = [];
        for (let slot = index.find(hash); slot >= 0; slot = index.findNext(slot))
          offsets.push(index.offsetAt(slot));
        return offsets.toSorted((a, b) => a - b);
      };
      for (let hash = -9; hash <= 9; hash++) {
        const expected = [...model].flatMap(([offset, known]) => (known === hash ? [offset] : []));
        expect(found(hash)).toEqual(expected.toSorted((a, b) => a - b));
      }
      expect(index.size).toBe(model.size);
    }),
    { numRuns: casesOf(200) },
  );
});

test("an index of as many entries as fit into a bound stays within the bound", () => {
  for (const bytes of [10_000, 100_000, 1_000_000]) {
    const index = new HashIndex();
    for (let i = 0; i < entriesThatFit(bytes); i++) index.insert(i * 0x9e3779b1, i);
    expect(index.bytes).toBeLessThanOrEqual(Math.max(bytes, 8_192));
  }
});
