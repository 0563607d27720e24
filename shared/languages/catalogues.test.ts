/** Goal: every language has every text, in its own words and with the same placeholders. */
import { describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";

import { listMessages, listPlaceholders } from "../../test/harness/marked-catalogue.ts";
import { directionOf } from "../contracts/text-direction.ts";
import { CATALOGUES, FALLBACK } from "./catalogues.ts";
import { createTexts } from "./messages.ts";

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
      const { text } = createTexts(code, { text: message });
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
  const { text } = createTexts("de", { text: message });
  expect(text({ n: 1, m: 1_234.5, name: "<b>" })).toBe("1 Klick, 1.234,5, <b>");
  expect(text({ n: 12_345, m: 0, name: "{n}" })).toBe("12.345 Klicks, 0, {n}");
  expect(() => createTexts("de", { text: "{" }).text()).toThrow();
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
