import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { aliasProblem, RESERVED_ON_OWN_DOMAIN } from "../../shared/contracts/alias.ts";
import { generateAlias, GENERATED_LENGTH } from "./names.ts";

describe("aliases", () => {
  test.each(["a", "Only_One-1", "_x", "9", "x".repeat(64), "2024/spring", "résumé", "v1.2", "🎈"])(
    "%p is allowed",
    (alias) => {
      for (const domain of [null, "go.example.com"])
        expect(aliasProblem(alias, domain)).toBeUndefined();
    },
  );

  test.each(["", "-a", "a b", "a//b", "a.", "a/..", "x".repeat(65), "a\n", "healthz", "HealthZ/a"])(
    "%p is not allowed",
    (alias) => {
      for (const domain of [null, "go.example.com"])
        expect(aliasProblem(alias, domain)).toBeString();
    },
  );

  test.each(["v1", "API", "help", "docs/a", "Status", "login", "settings", "robots", "favicon"])(
    "%p is reserved on the service's own domain alone",
    (alias) => {
      expect(aliasProblem(alias, null)).toBe(`The alias "${alias}" is reserved.`);
      expect(aliasProblem(alias, "go.example.com")).toBeUndefined();
    },
  );

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
