import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { aliasProblem, RESERVED_ON_OWN_DOMAIN } from "../../shared/contracts/alias.ts";
import { generateAlias, GENERATED_LENGTH } from "./names.ts";

describe("aliases", () => {
  test("the page about domains names every reserved word", async () => {
    const page = await Bun.file(`${import.meta.dir}/../../docs/domains.md`).text();
    const section = page.split("## Reserved words")[1]?.split("\n## ")[0] ?? "";
    const words = [...section.matchAll(/`([^`]+)`/g)].map(([, word = ""]) => word);
    expect(words.toSorted()).toEqual([...RESERVED_ON_OWN_DOMAIN].toSorted());
  });

  test("generated aliases are allowed and contain neither look-alikes nor vowels", () => {
    fc.assert(
      fc.property(fc.integer({ min: GENERATED_LENGTH, max: 20 }), (length) => {
        const alias = generateAlias(length);
        expect(alias).toHaveLength(length);
        expect(aliasProblem(alias, null)).toBeUndefined();
        expect(alias).not.toMatch(/[01lIoOaeiuAEIU]/);
      }),
    );
  });

  test("generated aliases differ", () => {
    const aliases = Array.from({ length: 1_000 }, () => generateAlias(GENERATED_LENGTH));
    expect(new Set(aliases).size).toBe(1_000);
  });
});
