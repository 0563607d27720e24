/** Goal: visitors get the language that they accept most, whatever their header contains. */
import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { createLanguageChoice } from "./choose-language.ts";

const choose = createLanguageChoice(["en", "de", "pt", "pt-BR", "zh-Hant"]);

test.each([
  ["de", "de"],
  ["DE-at", "de"],
  ["de-AT,en;q=0.9", "de"],
  ["en,de;q=0.9", "en"],
  ["fr,de;q=0.5,en;q=0.4", "de"],
  ["en;q=0.4, de ; q=0.5", "de"],
  ["en;q=0.5,de;q=0.5", "en"],
  ["de;q=0", "en"],
  ["de;q=2", "en"],
  ["de;q=0.1234", "en"],
  ["fr", "en"],
  ["*", "en"],
  ["fr,*;q=0.5,de;q=0.3", "en"],
  ["fr,de;q=0.5,*;q=0.3", "de"],
  ["de-*", "de"],
  ["deu", "en"],
  ["pt-br", "pt-BR"],
  ["pt-PT", "pt"],
  ["zh-Hant-TW", "zh-Hant"],
  ["zh", "en"],
  ["", "en"],
  [",;,-,--de,de-,;q=1", "de"],
])("%p is answered in %s", (header, language) => {
  expect(choose(header)).toBe(language);
});

describe("any header", () => {
  const tag = fc.constantFrom(
    "en",
    "de",
    "de-AT",
    "DE-de-1996",
    "pt-BR",
    "fr",
    "x-de",
    "*",
    "zh-Hant",
  );
  const weight = fc.integer({ min: 0, max: 1_000 });

  test("gets the language of the highest weight, of several the first", () => {
    const entries = fc.array(fc.tuple(tag, weight), { maxLength: 10 });
    fc.assert(
      fc.property(entries, (list) => {
        const header = list.map(([name, q]) => `${name};q=${(q / 1_000).toFixed(3)}`).join(", ");
        const known: Record<string, string> = {
          en: "en",
          de: "de",
          "de-AT": "de",
          "DE-de-1996": "de",
          "pt-BR": "pt-BR",
          "*": "en",
          "zh-Hant": "zh-Hant",
        };
        const best = list
          .filter(([name, q]) => q > 0 && name in known)
          .toSorted(([, a], [, b]) => b - a)[0];
        expect(choose(header)).toBe(known[best?.[0] ?? "*"] ?? "");
      }),
    );
  });

  test("gets one of the languages, also if it is garbage", () => {
    const piece = fc.oneof(
      fc.constantFrom(",", ";", "q=", "0.5", "-", "*", " ", "\t", "de", "=", "\u0000", "ÿ"),
      fc.string({ maxLength: 8 }),
    );
    const header = fc.array(piece, { maxLength: 400, size: "max" }).map((parts) => parts.join(""));
    fc.assert(
      fc.property(header, (text) => {
        expect(["en", "de", "pt", "pt-BR", "zh-Hant"]).toContain(choose(text));
      }),
    );
  });
});

/** A header whose entry `de` ends at a length. */
const endingAt = (length: number): string => `fr,${"x".repeat(length - 6)},de`;

describe("of a long header", () => {
  test("the first 256 characters count, and no entry that is cut off", () => {
    expect([256, 257].map((length) => choose(endingAt(length)))).toEqual(["de", "en"]);
    expect([256, 257].map((length) => choose(`${endingAt(length)},fr`))).toEqual(["de", "en"]);
    // Cut off after 256 characters, the last entry would have the weight 1.
    expect(choose(`en;q=0.5,${"x".repeat(244)},de;q=0.1`)).toBe("en");
    expect([256, 258].map((length) => choose("de".padEnd(length, "-x")))).toEqual(["de", "en"]);
  });

  test("the first 64 entries count", () => {
    expect([63, 64].map((count) => choose(`${"fr,".repeat(count)}de`))).toEqual(["de", "en"]);
  });
});
