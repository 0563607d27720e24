import { describe, expect, test } from "bun:test";

import fc from "fast-check";
import type * as z from "zod";

import { composeTrimmed } from "../../shared/contracts/text.ts";
import { groupFilters, matchesFilters } from "./filters.ts";
import { filtersQuery } from "./model.ts";
import { columnParams, whereColumns } from "./plan.ts";

type Query = z.input<typeof filtersQuery>;

const read = (query: Query) => groupFilters(filtersQuery.parse(query));

const readTerm = (text: string) => read({ utm_term: text }).columns.get("utm_term");

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
    expect(readTerm(text)).toEqual({ anyOf: [], noneOf: [], [side]: [value] });
  });

  test("can be any text after a backslash", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(readTerm(`\\${text}`)?.anyOf).toEqual([composeTrimmed(text)]);
      }),
    );
  });

  test.each<[keyof Query, string, string]>([
    ["country", "uk", "GB"],
    ["country", "", "ZZ"],
    ["country", "unknown", "ZZ"],
    ["continent", "Unknown", ""],
    ["region", "de-be", "DE-BE"],
    ["region", "Al-Ain", "Al-Ain"],
    ["host", "BÜCHER.de", "xn--bcher-kva.de"],
    ["host", "\u200bgo.bücher.de:8080", "go.xn--bcher-kva.de"],
    ["domain", "bücher.de", "xn--bcher-kva.de"],
    ["referrer", "www.Bücher.de", "xn--bcher-kva.de"],
    ["referrer", "XN--BCHER-KVA.de", "xn--bcher-kva.de"],
    ["utm_source", "newsletter ", "newsletter"],
    ["utm_campaign", "cafe\u0301", "café"],
    ["tag", "cafe\u0301", "café"],
    ["city", "Du\u0308sseldorf", "Düsseldorf"],
    ["browser", "", "unknown"],
    ["referrer", "", "direct"],
    ["language", "Unknown", ""],
    ["host", "Short.Example.com:8080", "short.example.com"],
  ])("of %s that is %p is compared as %p, given and excluded", (name, text, value) => {
    expect(filtersQuery.parse({ [name]: text })[name]).toEqual({ anyOf: [value], noneOf: [] });
    expect(filtersQuery.parse({ [name]: `-${text}` })[name]).toEqual({
      anyOf: [],
      noneOf: [value],
    });
  });
});

test("every value is a parameter of the query, none is part of its text", () => {
  fc.assert(
    fc.property(fc.array(fc.string(), { minLength: 1, maxLength: 20 }), (values) => {
      const filters = read({ os: values });
      expect(whereColumns(filters)).toMatch(
        /^(?:lower\(os\) (?:NOT )?IN \{os_(?:any|none): Array\(String\)\}(?: AND )?){1,2}$/,
      );
      expect(Object.values(columnParams(filters)).flat()).toHaveLength(values.length);
    }),
  );
});

describe("a click", () => {
  const click = { class: "human", country: "DE", region: "", device: "mobile", browser: "Chrome" };

  test.each<[Query, boolean]>([
    [{}, true],
    [{ country: ["AT", "DE"] }, true],
    [{ country: ["at", "de"] }, true],
    [{ country: "-DE" }, false],
    [{ country: "DE", device: "desktop" }, false],
    [{ region: "Unknown" }, true],
    [{ region: "" }, true],
    [{ browser: "chrome" }, true],
    [{ browser: "-CHROME" }, false],
    [{ utm_source: "" }, true],
    [{ class: "bot" }, false],
    [{ class: ["-bot", "-prefetch"] }, true],
  ])("with filters %p passes: %p", (query, passes) => {
    expect(matchesFilters(read(query), click)).toBe(passes);
  });
});
