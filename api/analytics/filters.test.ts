import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { columnCondition, matchesFilters, readFilters } from "./filters.ts";

const read = (query: Parameters<typeof readFilters>[0]) => readFilters(query).columns.get("city");

describe("a value of a filter", () => {
  test.each<[string, "anyOf" | "noneOf", string]>([
    ["Berlin", "anyOf", "Berlin"],
    ["-Berlin", "noneOf", "Berlin"],
    ["\\-Berlin", "anyOf", "-Berlin"],
    ["-\\-Berlin", "noneOf", "-Berlin"],
    ["\\\\Berlin", "anyOf", "\\Berlin"],
    ["a,b", "anyOf", "a,b"],
    ["", "anyOf", ""],
    ["-", "noneOf", ""],
  ])("%p is in %s as %p", (text, side, value) => {
    expect(read({ city: text })).toEqual({ anyOf: [], noneOf: [], [side]: [value] });
  });

  test("can be any text after a backslash", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(read({ city: `\\${text}` })?.anyOf).toEqual([text]);
      }),
    );
  });
});

test("every value is a parameter of the query, none is part of its text", () => {
  fc.assert(
    fc.property(fc.array(fc.string(), { minLength: 1, maxLength: 20 }), (values) => {
      const { condition = "", params = {} } = columnCondition(readFilters({ os: values })) ?? {};
      expect(condition).toMatch(
        /^(?:os (?:NOT )?IN \{os_(?:any|none): Array\(String\)\}(?: AND )?){1,2}$/,
      );
      expect(Object.values(params).flat()).toHaveLength(values.length);
    }),
  );
});

describe("a click", () => {
  const click = { class: "human", country: "DE", region: "", device: "mobile" };

  test.each<[Parameters<typeof readFilters>[0], boolean]>([
    [{}, true],
    [{ country: ["AT", "DE"] }, true],
    [{ country: "-DE" }, false],
    [{ country: "DE", device: "desktop" }, false],
    [{ region: "Unknown" }, true],
    [{ utm_source: "" }, true],
    [{ class: "bot" }, false],
    [{ class: ["-bot", "-prefetch"] }, true],
  ])("with filters %p passes: %p", (query, passes) => {
    expect(matchesFilters(readFilters(query), click)).toBe(passes);
  });
});
