import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import type { Utm } from "./model.ts";
import { applyUtm } from "./record.ts";

const none: Utm = {
  utm_source: null,
  utm_medium: null,
  utm_campaign: null,
  utm_term: null,
  utm_content: null,
};

describe("applying UTM parameters", () => {
  test.each<[string, Partial<Utm>, string]>([
    ["https://e.com/", {}, "https://e.com/"],
    ["https://e.com/", { utm_source: "a b" }, "https://e.com/?utm_source=a+b"],
    ["https://e.com/?x=1", { utm_source: "s" }, "https://e.com/?x=1&utm_source=s"],
    [
      "https://e.com/?utm_source=old&x=1",
      { utm_source: "new" },
      "https://e.com/?x=1&utm_source=new",
    ],
    ["https://e.com/?utm%5Fsource=old", { utm_source: "new" }, "https://e.com/?utm_source=new"],
    [
      "https://e.com/?utm_medium=keep",
      { utm_source: "s" },
      "https://e.com/?utm_medium=keep&utm_source=s",
    ],
    ["https://e.com/#part?x", { utm_source: "s" }, "https://e.com/?utm_source=s#part?x"],
    ["https://e.com/?abc", { utm_source: "s" }, "https://e.com/?abc&utm_source=s"],
    ["https://e.com/?a&&b&", { utm_source: "s" }, "https://e.com/?a&&b&utm_source=s"],
    ["https://e.com/?a;b=%FC", { utm_source: "s" }, "https://e.com/?a;b=%FC&utm_source=s"],
    [
      "https://e.com/?u=https://x.com/?utm_source=x",
      { utm_source: "s" },
      "https://e.com/?u=https://x.com/?utm_source=x&utm_source=s",
    ],
    ["https://e.com/?utm_source&b", { utm_source: "s" }, "https://e.com/?b&utm_source=s"],
    [
      "https://e.com/?UTM_SOURCE=a",
      { utm_source: "s" },
      "https://e.com/?UTM_SOURCE=a&utm_source=s",
    ],
    ["https://e.com/?", { utm_term: "&=#" }, "https://e.com/?utm_term=%26%3D%23"],
    [
      "https://e.com/?sig=a%20b+c",
      { utm_content: "é" },
      "https://e.com/?sig=a%20b+c&utm_content=%C3%A9",
    ],
  ])("to %p with %o returns %p", (href, utm, expected) => {
    expect(applyUtm(href, { ...none, ...utm })).toBe(expected);
  });

  test("sets every value exactly once and leaves all other bytes as they are", () => {
    fc.assert(
      fc.property(
        fc.webUrl({ withQueryParameters: true, withFragments: true }),
        fc.string({ minLength: 1 }),
        (text, value) => {
          const { href } = new URL(text);
          const result = applyUtm(href, { ...none, utm_campaign: value.toWellFormed() });
          const url = new URL(result);
          expect(url.searchParams.getAll("utm_campaign")).toEqual([value.toWellFormed()]);
          expect(url.hash).toBe(new URL(href).hash);
          const others = new URL(href).search
            .slice(1)
            .split("&")
            .filter((part) => !part.startsWith("utm_campaign"));
          expect(url.search).toStartWith(`?${others.join("&")}`);
        },
      ),
    );
  });
});
