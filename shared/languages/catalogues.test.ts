/** Goal: every language has every text, in its own words and with the same placeholders. */
import { describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";

import fc from "fast-check";

import { listMessages, listPlaceholders } from "../../test/harness/marked-catalogue.ts";
import { directionOf } from "../contracts/languages.ts";
import { CATALOGUES, FALLBACK, LanguageChoice } from "./catalogues.ts";
import { textsOf } from "./messages.ts";

const english = new Map(listMessages(CATALOGUES[FALLBACK] ?? {}));

/** Words that are the same in English and another language. */
const SAME = /^(?:bots|browser|desktop|logo|tablet)$/i;

/** Whether a message has words that are not the same in every language. */
const hasWords = (message: string): boolean =>
  /\p{L}/u.test(message.replaceAll(/\{\w+\}/g, "")) && !SAME.test(message);

test("each file in the folder is a language, named by its code", () => {
  const files = readdirSync(import.meta.dir).filter((name) => name.endsWith(".json"));
  expect(files.map((name) => name.replace(".json", "")).toSorted()).toEqual(
    Object.keys(CATALOGUES).toSorted(),
  );
  for (const code of Object.keys(CATALOGUES))
    expect(Intl.getCanonicalLocales(code)).toEqual([code]);
});

describe.each(Object.entries(CATALOGUES))("%s", (code, catalogue) => {
  const messages = listMessages(catalogue);

  test("has the messages of English, and no others", () => {
    expect(messages.map(([name]) => name).toSorted()).toEqual([...english.keys()].toSorted());
  });

  test("has the placeholders of English, and all plural forms of its own", () => {
    for (const [name, message] of messages) {
      const placeholders = listPlaceholders(english.get(name) ?? "");
      expect([name, listPlaceholders(message)]).toEqual([name, placeholders]);
      const { text } = textsOf(code, { text: message });
      for (const count of [0, 1, 2, 3, 5, 11, 21, 100, 1_000_000, 1.5]) {
        const values = Object.fromEntries(placeholders.map((each) => [each, count]));
        expect([name, text(values).trim()]).not.toEqual([name, ""]);
      }
    }
  });

  test("has no markup, and no spaces around a text", () => {
    for (const [name, message] of messages)
      expect([name, message]).toEqual([name, message.replaceAll(/[<>&]/g, "").trim()]);
  });
});

const translations = Object.entries(CATALOGUES).filter(([code]) => code !== FALLBACK);

test.each(translations)("%s is translated", (_, catalogue) => {
  const same = listMessages(catalogue).filter(
    ([name, text]) => text === english.get(name) && hasWords(text),
  );
  expect(same).toEqual([]);
});

test("a text has the plural form and the numbers of its language", () => {
  const message = "{n, plural, one {# Klick} other {# Klicks}}, {m, number}, {name}";
  const { text } = textsOf("de", { text: message });
  expect(text({ n: 1, m: 1_234.5, name: "<b>" })).toBe("1 Klick, 1.234,5, <b>");
  expect(text({ n: 12_345, m: 0, name: "{n}" })).toBe("12.345 Klicks, 0, {n}");
  expect(() => textsOf("de", { text: "{" }).text()).toThrow();
});

test.each([
  ["en", "ltr"],
  ["de", "ltr"],
  ["ar", "rtl"],
  ["he", "rtl"],
  ["az-Arab", "rtl"],
  ["zh-Hant-TW", "ltr"],
] as const)("%s is written %s", (code, direction) => {
  expect(directionOf(code)).toBe(direction);
});

const languages = new LanguageChoice(["en", "de", "pt", "pt-BR", "zh-Hant"]);

test.each([
  ["de-AT,en;q=0.9", "de"],
  ["en,de;q=0.9", "en"],
  ["fr,de;q=0.5,en;q=0.4", "de"],
  ["en;q=0.4, de ; q=0.5", "de"],
  ["de;q=0", "en"],
  ["de;q=2", "en"],
  ["de;q=0.1234", "en"],
  ["fr,*;q=0.5,de;q=0.3", "en"],
  ["de-*", "de"],
  ["deu", "en"],
  ["pt-br", "pt-BR"],
  ["zh-Hant-TW", "zh-Hant"],
  ["zh", "en"],
  ["", "en"],
  [",;,-,--de,de-,;q=1", "de"],
])("%p is answered in %s", (header, language) => {
  expect(languages.choose(header)).toBe(language);
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
        expect(languages.choose(header)).toBe(known[best?.[0] ?? "*"] ?? "");
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
        expect(["en", "de", "pt", "pt-BR", "zh-Hant"]).toContain(languages.choose(text));
      }),
    );
  });
});

/** A header whose entry `de` ends at a length. */
const endingAt = (length: number): string => `fr,${"x".repeat(length - 6)},de`;

describe("of a long header", () => {
  test("the first 256 characters count, and no entry that is cut off", () => {
    expect([256, 257].map((length) => languages.choose(endingAt(length)))).toEqual(["de", "en"]);
    // Cut off after 256 characters, the last entry would have the weight 1.
    expect(languages.choose(`en;q=0.5,${"x".repeat(244)},de;q=0.1`)).toBe("en");
    expect([256, 258].map((length) => languages.choose("de".padEnd(length, "-x")))).toEqual([
      "de",
      "en",
    ]);
  });

  test("the first 64 entries count", () => {
    expect([63, 64].map((count) => languages.choose(`${"fr,".repeat(count)}de`))).toEqual([
      "de",
      "en",
    ]);
  });
});
