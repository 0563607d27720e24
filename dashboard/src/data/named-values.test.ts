/**
 * Goal: countries, languages, browsers and systems are typed and read by name, and the API gets
 * what it calls them. Method: rows, in both languages of the page.
 */
import { afterEach, describe, expect, test } from "bun:test";

import { setLanguage } from "../languages/translate.ts";
import { codesOf, optionsOf, toAcceptLanguage, toCodes, toNames } from "./named-values.ts";

// All that a language changes of the page itself.
Object.assign(globalThis, { document: { documentElement: {} } });

afterEach(() => setLanguage("en"));

describe.each(["en", "de"] as const)("in %s", (language) => {
  test.each(["country", "language"] as const)(
    "no two codes of a %s have one name",
    async (kind) => {
      await setLanguage(language);
      const all = codesOf(kind);
      expect(new Set(all.map(({ name }) => name.toLowerCase())).size).toBe(all.length);
      const codes = all.map(({ code }) => code);
      expect(toCodes(kind, toNames(kind, codes))).toEqual(codes);
    },
  );
});

test.each([
  ["en", "country", "Germany, at", ["DE", "AT"]],
  ["de", "country", "Österreich,SCHWEIZ , de", ["AT", "CH", "DE"]],
  ["de", "country", "O\u0308sterreich", ["AT"]],
  ["de", "country", "Germany", ["Germany"]],
  ["de", "language", "Deutsch, pt-br", ["de", "pt-br"]],
  ["en", "browser", "Firefox, Samsung Internet", ["Firefox", "Samsung Internet"]],
  ["en", "referrer", "example.com", ["example.com"]],
  ["en", "country", " , ", []],
] as const)("in %s, a %s is typed as %p", async (language, kind, text, values) => {
  await setLanguage(language);
  expect(toCodes(kind, text)).toEqual([...values]);
});

test.each([
  ["en", "country", ["DE", "AT"], "Germany, Austria"],
  ["de", "country", ["DE", "QQ"], "Deutschland, QQ"],
  ["de", "language", ["de", "pt-br"], "Deutsch, Portugiesisch (Brasilien)"],
  ["en", "os", ["iOS"], "iOS"],
] as const)("in %s, a %s is read as %p", async (language, kind, values, text) => {
  await setLanguage(language);
  expect(toNames(kind, values).toLowerCase()).toBe(text.toLowerCase());
});

test("languages are typed by name, or as a browser sends them", () => {
  expect(toAcceptLanguage("German, pt-br")).toBe("de,pt-br");
  expect(toAcceptLanguage("German; French;pt-br")).toBe("de,fr,pt-br");
  expect(toAcceptLanguage("de-AT, de;q=0.9,,fr; q=0.8")).toBe("de-at,de;q=0.9,fr;q=0.8");
});

test("an option is found by its name and its code", () => {
  expect(optionsOf("country")).toContainEqual({ code: "CI", name: expect.any(String) });
  expect(optionsOf("os")).toContainEqual({ name: "iOS" });
  expect(optionsOf("referrer")).toEqual([]);
});
