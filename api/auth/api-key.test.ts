import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { generateKey, parseKey } from "./api-key.ts";

const anyMode = fc.constantFrom("live" as const, "test" as const);

describe("API keys", () => {
  test("a generated key has its mode's prefix and parses into its parts", () => {
    fc.assert(
      fc.property(anyMode, (mode) => {
        const generated = generateKey(mode);
        expect(generated.key).toMatch(new RegExp(`^sk_${mode}_[0-9A-Za-z]{61}$`));
        expect(generated.prefix).toBe(generated.key.slice(0, 12));
        expect(parseKey(generated.key)).toEqual({
          mode,
          lookup: generated.lookup,
          secretHash: generated.secretHash,
        });
      }),
    );
  });

  test("a key with one mistyped character is rejected", () => {
    fc.assert(
      fc.property(
        anyMode,
        fc.nat(),
        fc.constantFrom("0", "A", "a", "z", "9", "Z", "_", "-"),
        (mode, at, typo) => {
          const { key } = generateKey(mode);
          const position = at % key.length;
          const mistyped = key.slice(0, position) + typo + key.slice(position + 1);
          fc.pre(mistyped !== key);
          expect(parseKey(mistyped)).toBeUndefined();
        },
      ),
    );
  });

  test("arbitrary text is no key", () => {
    fc.assert(fc.property(fc.string(), (text) => expect(parseKey(text)).toBeUndefined()));
  });
});
