import { expect, test } from "bun:test";

import fc from "fast-check";

import { nthId } from "./bulk.ts";

test("ids derived from one id are distinct UUIDs, and the same on every call", () => {
  fc.assert(
    fc.property(fc.uuid({ version: 7 }), (first) => {
      const ids = Array.from({ length: 100 }, (_, n) => nthId(first, n));
      expect(ids[0]).toBe(first);
      expect(new Set(ids).size).toBe(100);
      for (const id of ids)
        expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/);
      expect(nthId(first, 99)).toBe(ids[99] ?? "");
    }),
  );
});
