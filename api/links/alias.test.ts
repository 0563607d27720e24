import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { aliasProblem } from "../../shared/contracts/alias.ts";
import { generateAlias, GENERATED_LENGTH } from "./alias.ts";

describe("aliases", () => {
  test.each(["a", "Only_One-1", "_x", "9", "x".repeat(64)])("%p is allowed", (alias) => {
    expect(aliasProblem(alias)).toBeUndefined();
  });

  test.each(["", "-a", "a b", "a/b", "é", "a.b", "x".repeat(65), "a\n", "v1", "API", "Healthz"])(
    "%p is not allowed",
    (alias) => {
      expect(aliasProblem(alias)).toBeString();
    },
  );

  test("generated aliases are allowed and contain neither look-alikes nor vowels", () => {
    fc.assert(
      fc.property(fc.integer({ min: GENERATED_LENGTH, max: 20 }), (length) => {
        const alias = generateAlias(length);
        expect(alias).toHaveLength(length);
        expect(aliasProblem(alias)).toBeUndefined();
        expect(alias).not.toMatch(/[01lIoOaeiuAEIU]/);
      }),
    );
  });

  test("generated aliases differ", () => {
    const aliases = Array.from({ length: 1_000 }, () => generateAlias(GENERATED_LENGTH));
    expect(new Set(aliases).size).toBe(1_000);
  });
});
