/**
 * Goal: a pasted text loses what nobody sees at its ends, and nothing else; letters are stored in
 * one form.
 */
import { expect, test } from "bun:test";

import fc from "fast-check";

import { newKeyBody } from "./key-schemas.ts";
import { externalId, newLinkBody, tag } from "./link-schemas.ts";
import { reportName } from "./report-schemas.ts";
import { brandName, shareName } from "./share-schemas.ts";
import { composeLetters, hasControlCharacter, toSingleLine, trimInvisible } from "./text.ts";
import { userName } from "./users.ts";
import { viewName } from "./view-schemas.ts";
import { newWebhookBody } from "./webhook-schemas.ts";

/** Characters that nobody sees, by the reason why they come along. */
const INVISIBLE: Readonly<Record<string, string>> = {
  "a zero-width space": "\u200b",
  "a byte order mark": "\ufeff",
  "a no-break space": "\u00a0",
  "a narrow no-break space": "\u202f",
  "an ideographic space": "\u3000",
  "a line break and a tab": "\r\n\t",
  "a line separator": "\u2028",
  "a left-to-right mark": "\u200e",
  "a right-to-left mark": "\u200f",
  "an Arabic letter mark": "\u061c",
  "an embedding and its end": "\u202a\u202c",
  "an isolate and its end": "\u2066\u2069",
  "a soft hyphen": "\u00ad",
  "a word joiner": "\u2060",
  "a joiner and a non-joiner": "\u200d\u200c",
  "an invisible separator": "\u2063",
  "a grapheme joiner": "\u034f",
  "a Hangul filler": "\u3164",
  "a Mongolian vowel separator": "\u180e",
  "a variation of nothing": "\ufe0f",
  "a language tag": "\u{e0001}\u{e0064}\u{e0065}",
  "an empty Braille pattern": "\u2800",
  "the place of an image": "\ufffc",
};

test.each(Object.entries(INVISIBLE))("%s is trimmed at both ends", (_what, invisible) => {
  expect(trimInvisible(`${invisible}https://e.com/p${invisible}`)).toBe("https://e.com/p");
  expect(trimInvisible(`${invisible} ${invisible}`)).toBe("");
});

test.each([
  ["a variation selector", "❤\ufe0f"],
  ["joiners", "👩\u200d❤\ufe0f\u200d👨"],
  ["a variation selector at the end of a joined emoji", "🏃\u200d♀\ufe0f"],
  ["the tags of a flag", "🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}"],
  ["a keycap", "1\ufe0f\u20e3"],
  ["a skin tone", "👍🏽"],
  ["the variation of a Han character", "葛\u{e0100}"],
])("an emoji keeps %s", (_what, emoji) => {
  for (const rest of ["", "\u200b", " \u200d", "\u200e\ufe0f"])
    expect(trimInvisible(`a${emoji}${rest}`)).toBe(`a${emoji}`);
});

test("all blanks are trimmed, and a bounded number of other invisible characters", () => {
  expect(trimInvisible(`${" ".repeat(1_000)}a${"\n".repeat(1_000)}`)).toBe("a");
  const invisible = "\u200b".repeat(1_000_000);
  expect(trimInvisible(invisible).length).toBeGreaterThan(invisible.length - 1_000);
});

test("what is between visible characters stays, and nothing is left to trim", () => {
  const anyCharacter = fc.oneof(
    fc.constantFrom(...Object.values(INVISIBLE), "❤", "葛", "🏴", "\ud83d", "\udc00"),
    fc.string({ unit: "binary", maxLength: 3 }),
  );
  fc.assert(
    fc.property(fc.array(anyCharacter, { maxLength: 12 }), (parts) => {
      const text = parts.join("");
      const trimmed = trimInvisible(text);
      expect(text).toContain(trimmed);
      expect(trimInvisible(trimmed)).toBe(trimmed);
      expect(trimInvisible(`x${text}y`)).toBe(`x${text}y`);
      expect(trimmed.trim()).toBe(trimmed);
    }),
  );
});

test("a title of a page becomes one that a link can have, with all that is seen", () => {
  expect(toSingleLine("\u202bגוגל – C++\u200e\u202c\u200f\r\n\u2066מפות\u2069")).toBe(
    "גוגל – C++ מפות",
  );
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      const line = toSingleLine(text);
      expect(hasControlCharacter(line)).toBe(false);
      expect(toSingleLine(line)).toBe(line);
    }),
  );
});

test.each([
  ["a tag", tag],
  ["an external id", externalId],
  ["a saved view", viewName],
])("%s of any text is addressed by its path, unless the text is refused", (_, name) => {
  const text = fc.string({ unit: fc.constantFrom(...Array.from("./%2e?#\\:ü✓ ")) });
  fc.assert(
    fc.property(text, (sent) => {
      const { data } = name.safeParse(sent);
      if (data === undefined) return;
      const { pathname } = new URL(`https://api.example/v1/${encodeURIComponent(data)}`);
      expect(decodeURIComponent(pathname)).toBe(`/v1/${data}`);
    }),
  );
  for (const none of ["", ".", ".."]) expect(name.safeParse(none).success).toBe(false);
});

test("texts of people have composed letters, those that programs compare stay as they are", () => {
  const [composed, decomposed] = ["Café", "Cafe\u0301"];
  const texts = { title: decomposed, notes: decomposed, utm_campaign: decomposed };
  const condition = { type: "query", name: decomposed, in: [decomposed] };
  const rules = [{ url: "https://example.com/b", conditions: [condition] }];
  const link = newLinkBody.parse({
    ...texts,
    url: "https://example.com",
    tags: [composed, decomposed],
    preview: { title: decomposed, description: decomposed },
    external_id: decomposed,
    rules,
  });
  expect(link).toMatchObject({
    title: composed,
    notes: composed,
    utm_campaign: composed,
    tags: [composed],
    preview: { title: composed, description: composed },
    external_id: decomposed,
    rules,
  });
  const names = [newKeyBody.shape.name, reportName, brandName, shareName, userName, viewName];
  for (const schema of [...names, newWebhookBody.shape.description])
    expect(schema.parse(decomposed)).toBe(composed);
});

const letterOf = (marks: number): string => `a${"\u0316".repeat(marks - 1)}\u0301`;

test("letters of more marks than any writing has are not composed, which takes quadratic time", () => {
  expect(composeLetters(letterOf(30))).toBe(`\u00e1${"\u0316".repeat(29)}`);
  expect(composeLetters(letterOf(31))).toBe(letterOf(31));
});

test("a text that is too long is refused as it is: composing it takes quadratic time", () => {
  const long = `a${"\u0301".repeat(40_000)}${"\u0316".repeat(40_000)}`;
  const arms = [{ label: long, url: "https://example.com/b", weight: 1 }];
  const fields = { title: long, notes: long, utm_campaign: long, tags: [long], split: { arms } };
  for (const [name, value] of Object.entries(fields))
    expect(newLinkBody.safeParse({ url: "https://example.com", [name]: value }).success).toBe(
      false,
    );
});
