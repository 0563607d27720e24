/** Goal: a change of many links changes what was asked for, and nothing beside it. */
import { describe, expect, test } from "bun:test";

import { NO_UTM, replaceIn, toUtmChange } from "./bulk-dialogs.tsx";

describe("find and replace in a destination", () => {
  test.each([
    ["https://old.example/a", "old.example", "new.example", "https://new.example/a"],
    ["https://a.example/x/x?x=x", "/x", "/y", "https://a.example/y/y?x=x"],
    ["https://a.example/?q=1+1", "1+1", "2", "https://a.example/?q=2"],
    ["https://a.example/(a)", "(a)", "$&$1", "https://a.example/$&$1"],
    ["https://a.example/Sale", "sale", "x", "https://a.example/Sale"],
    ["https://a.example/a?ref=x", "?ref=x", "", "https://a.example/a"],
    ["https://a.example/", "", "x", "https://a.example/"],
  ])("%s: %p by %p gives %s", (url, find, replacement, expected) => {
    expect(replaceIn(url, find, replacement)).toBe(expected);
  });
});

describe("UTM parameters of many links", () => {
  const typed = { ...NO_UTM, utm_source: " mail ", utm_campaign: "spring" };
  test.each([
    ["those left empty stay", typed, false, { utm_source: "mail", utm_campaign: "spring" }],
    ["nothing typed changes nothing", NO_UTM, false, {}],
    [
      "those left empty are removed",
      typed,
      true,
      {
        utm_source: "mail",
        utm_medium: null,
        utm_campaign: "spring",
        utm_term: null,
        utm_content: null,
      },
    ],
  ] as const)("%s", (_, texts, removesEmpty, change) => {
    expect(toUtmChange(texts, removesEmpty)).toEqual(change);
  });
});
