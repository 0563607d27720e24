import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { generateKey, parseKey } from "./api-key.ts";

const anyMode = fc.constantFrom("live" as const, "test" as const);

describe("API keys", () => {
  test("a key is told apart by its prefix and gives back what it was made of", () => {
    fc.assert(
      fc.property(anyMode, (mode) => {
        const made = generateKey(mode);
        expect(made.key).toMatch(new RegExp(`^sk_${mode}_[0-9A-Za-z]{61}$`));
        expect(made.prefix).toBe(made.key.slice(0, 12));
        expect(parseKey(made.key)).toEqual({
          mode,
          lookup: made.lookup,
          secretHash: made.secretHash,
        });
      }),
    );
  });

  test("a key with any one character mistyped is turned away", () => {
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

  test("the hash that is stored does not hold the secret", () => {
    const { key, secretHash } = generateKey("live");
    expect(key).not.toContain(secretHash.toString("hex").slice(0, 16));
    expect(secretHash).toHaveLength(32);
  });

  test("arbitrary text is not a key", () => {
    fc.assert(fc.property(fc.string(), (text) => expect(parseKey(text)).toBeUndefined()));
  });
});
