import { expect, test } from "bun:test";

import fc from "fast-check";

import { seal, unseal } from "./sealing.ts";

test("what is sealed comes back under its own secret alone, and not at all when it was changed", () => {
  fc.assert(
    fc.property(fc.string(), fc.string({ unit: "grapheme" }), fc.nat(), (secret, text, at) => {
      const sealed = seal(secret, text);
      expect(unseal(secret, sealed)).toBe(text);
      expect(unseal(`${secret}x`, sealed)).toBeUndefined();
      const changed = Buffer.from(sealed);
      const i = at % changed.length;
      changed[i] = (changed[i] ?? 0) ^ 1;
      expect(unseal(secret, changed)).toBeUndefined();
    }),
  );
});
