import { expect, test } from "bun:test";

import fc from "fast-check";

import { createTable, entriesWithin } from "./table.ts";

test("the table has what was put into it and not removed, however hashes collide", () => {
  const anyOperation = fc.record({
    kind: fc.constantFrom("insert", "insert", "insert", "remove", "move"),
    // Neighbours and repeats, also around the end of the table.
    hash: fc.oneof(fc.integer({ min: -9, max: 9 }), fc.integer()),
    which: fc.nat(),
  });
  fc.assert(
    fc.property(fc.array(anyOperation, { maxLength: 1_500, size: "max" }), (operations) => {
      const table = createTable();
      const model = new Map<number, number>();
      let next = 0;
      const slotOf = (place: number) => {
        let slot = table.first(model.get(place) ?? 0);
        while (slot >= 0 && table.placeAt(slot) !== place) slot = table.next(slot);
        return slot;
      };
      for (const { kind, hash, which } of operations) {
        if (kind === "insert") {
          model.set(next, hash);
          table.insert(hash, next++);
          continue;
        }
        const [place, known] = [...model][which % Math.max(1, model.size)] ?? [];
        if (place === undefined || known === undefined) continue;
        if (kind === "remove") table.remove(slotOf(place));
        else table.move(slotOf(place), next);
        model.delete(place);
        if (kind === "move") model.set(next++, known);
      }
      for (const place of model.keys()) expect(slotOf(place)).toBeGreaterThanOrEqual(0);
      const found = (hash: number) => {
        const places = [];
        for (let slot = table.first(hash); slot >= 0; slot = table.next(slot))
          places.push(table.placeAt(slot));
        return places.toSorted((a, b) => a - b);
      };
      for (let hash = -9; hash <= 9; hash++) {
        const expected = [...model].flatMap(([place, known]) => (known === hash ? [place] : []));
        expect(found(hash)).toEqual(expected.toSorted((a, b) => a - b));
      }
      expect(table.size()).toBe(model.size);
      table.clear();
      expect([table.size(), found(0)]).toEqual([0, []]);
    }),
    { numRuns: 200 },
  );
});

test("a table of as many entries as its bytes allow keeps within them", () => {
  for (const bytes of [10_000, 100_000, 1_000_000]) {
    const table = createTable();
    for (let i = 0; i < entriesWithin(bytes); i++) table.insert(i * 0x9e3779b1, i);
    expect(table.bytes()).toBeLessThanOrEqual(Math.max(bytes, 8_192));
  }
});
