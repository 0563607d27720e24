/**
 * Goal: every alias that the rule allows is read back from each form in which its URL may be
 * written, and nothing that nobody sees, or that means another path, is an alias.
 */
import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { anyAlias, EMOJI } from "../../test/harness/any-alias.ts";
import { casesOf } from "../../test/harness/property-runs.ts";
import {
  ALIAS_BYTES_MAX,
  aliasProblem,
  decodeAliasPath,
  encodeAlias,
  foldAlias,
  isAlias,
  normalizeAlias,
  trimAlias,
} from "./alias.ts";
import { readableUrl } from "./host-names.ts";
import { newLinkBody } from "./link-schemas.ts";

const RUNS = { numRuns: casesOf(20_000) };

const PATTERN = new RegExp(
  String(newLinkBody.shape.alias.unwrap().unwrap().meta()?.["pattern"]),
  "u",
);

test("every alias that can be made of the allowed characters is one", () => {
  fc.assert(
    fc.property(anyAlias(), (alias) => {
      expect([alias, isAlias(alias)]).toEqual([alias, true]);
      expect(aliasProblem(alias, "go.example.com")).toBeUndefined();
      expect(aliasProblem(alias.normalize("NFD"), "go.example.com")).toBeUndefined();
      expect(Buffer.byteLength(alias)).toBeLessThanOrEqual(ALIAS_BYTES_MAX);
      expect(alias).toMatch(PATTERN);
    }),
    RUNS,
  );
});

test("an alias is the same raw, percent-encoded and decomposed", () => {
  const anyForm = fc.tuple(anyAlias(), fc.boolean(), fc.infiniteStream(fc.nat({ max: 3 })));
  fc.assert(
    fc.property(anyForm, ([alias, isDecomposed, choices]) => {
      const text = isDecomposed ? alias.normalize("NFD") : alias;
      const written = Array.from(text, (character) => {
        const choice = choices.next().value;
        if (character === "/" || choice === 0) return character;
        const hex = Buffer.from(character).toString("hex").replaceAll(/../g, "%$&");
        return choice === 1 ? hex : hex.toUpperCase();
      }).join("");
      expect(decodeAliasPath(written)).toBe(alias);
    }),
    RUNS,
  );
});

/** Each emoji, and as keyboards, fonts and copies of it write it with other variations. */
const EMOJI_FORMS: [alias: string, ...forms: string[]][] = [
  ["\u2764\ufe0f", "\u2764", "\u2764\ufe0e"],
  ["sale-\u2600\ufe0f", "sale-\u2600", "sale-\u2600\ufe0e"],
  ["\u260e\ufe0f-us/\u2709\ufe0f", "\u260e-us/\u2709", "\u260e-us/\u2709\ufe0f"],
  ["\u00a9\ufe0f", "\u00a9"],
  ["\u2122\ufe0fbrand", "\u2122brand"],
  ["\u{1f17f}\ufe0f", "\u{1f17f}"],
  ["\u{1f3f3}\ufe0f\u200d\u{1f308}", "\u{1f3f3}\u200d\u{1f308}"],
  ["\u{1f9d1}\u200d\u2695\ufe0f", "\u{1f9d1}\u200d\u2695"],
  ["\u{1f441}\ufe0f\u200d\u{1f5e8}\ufe0f", "\u{1f441}\u200d\u{1f5e8}"],
  ["\u261d\u{1f3fb}"],
  ["\u2b50", "\u2b50\ufe0f", "\u2b50\ufe0e"],
  ["\u2b50sale", "\u2b50\ufe0fsale"],
  ["\u{1f388}", "\u{1f388}\ufe0f"],
];

test.each(EMOJI_FORMS)("%s is one alias with and without variations", (alias, ...forms) => {
  expect(isAlias(alias)).toBeTrue();
  for (const form of [alias, ...forms]) {
    expect(normalizeAlias(form)).toBe(alias);
    expect(decodeAliasPath(form)).toBe(alias);
    expect(decodeAliasPath(encodeURIComponent(form).replaceAll("%2F", "/"))).toBe(alias);
    expect(aliasProblem(form, null)).toBeUndefined();
  }
});

test("no two aliases become one: each stays as it is", () => {
  fc.assert(
    fc.property(anyAlias(), (alias) => {
      expect(normalizeAlias(alias)).toBe(alias);
    }),
    RUNS,
  );
  for (const alias of [
    "1\u20e3",
    "1\ufe0f\u20e3",
    "\u2139",
    "\u2139\ufe0f",
    "\u261d\ufe0f\u{1f3fb}",
  ])
    expect([alias, isAlias(alias), normalizeAlias(alias)]).toEqual([alias, true, alias]);
});

test("the URL of an alias is one of ASCII, which browsers leave as it is, and which is shown readable", () => {
  fc.assert(
    fc.property(anyAlias(), (alias) => {
      const url = `https://sho.rt/${encodeAlias(alias)}`;
      expect(new URL(url).href).toBe(url);
      expect(new URL(`https://sho.rt/${alias}`).pathname).toBe(`/${encodeAlias(alias)}`);
      expect(decodeAliasPath(encodeAlias(alias))).toBe(alias);
      expect(readableUrl(url)).toBe(`sho.rt/${alias}`);
    }),
    RUNS,
  );
});

test("what is glued to an alias is dropped, and the alias stays whole", () => {
  const before = fc.constantFrom("", "/", "//", " ", "(", "“", "\u200b");
  const after = fc.constantFrom(
    "",
    ".",
    ").",
    ",",
    "//",
    " and more",
    "&utm_source=x",
    "”",
    "\u200b",
  );
  fc.assert(
    fc.property(anyAlias(), before, after, (alias, start, junk) => {
      expect(trimAlias(`/${start}${alias}${junk}`)).toBe(alias);
    }),
    RUNS,
  );
});

test("an alias in lower case is one, and the same for all that differ in case only", () => {
  fc.assert(
    fc.property(anyAlias(), (alias) => {
      const folded = foldAlias(alias);
      expect(foldAlias(folded)).toBe(folded);
      expect(Buffer.byteLength(folded)).toBeLessThanOrEqual(ALIAS_BYTES_MAX);
    }),
    RUNS,
  );
  for (const [one, other] of [
    ["Été", "ÉTÉ"],
    ["ΟΔΟΣ", "οδοσ"],
    ["J\u030c", "ǰ"],
    ["İ", "i"],
  ] as const)
    expect(foldAlias(one)).toBe(foldAlias(other));
});

describe("no alias", () => {
  test.each([
    ["nothing", ""],
    ["an empty segment", "a//b"],
    ["a slash at the start", "/a"],
    ["a slash at the end", "a/"],
    ["a dot", "."],
    ["a dot segment", "a/.."],
    ["a dot at the end of a segment", "a./b"],
    ["a hyphen at the start", "-a"],
    ["an escaped slash", "a%2Fb"],
    ["a decomposed letter", "e\u0301"],
    ["a blank", "a b"],
    ["a full-width slash", "a／b"],
    ["the keycap of a fragment", "#️⃣"],
    ["a part of a flag", "🇩"],
    ["an emoji without its variation", "❤"],
    ["a symbol", "€"],
    ["a lone surrogate", "\ud83c"],
    ["too many characters", "é".repeat(65)],
    ["too many emoji", "👨‍👩‍👧‍👦".repeat(10)],
    ["a word of every domain", "Healthz/a"],
    ["a folder of every domain", ".well-known/security.txt"],
  ])("is %s", (_what, text) => {
    expect(isAlias(text)).toBeFalse();
  });

  test("has what nobody sees, or what turns the direction of a text, outside of emoji", () => {
    const hidden =
      /^[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\p{Cc}\p{Cf}\p{Z}\p{Co}\p{Cn}]$/u;
    for (let code = 0; code < 0x11_00_00; code++) {
      const character = String.fromCodePoint(code);
      if (!hidden.test(character)) continue;
      if (isAlias(`a${character}b`)) expect(code.toString(16)).toBe("hidden");
    }
    for (const emoji of EMOJI)
      for (const character of ["\ufe0e", "\u200d", "\u{e0067}"])
        expect(isAlias(`${emoji}${character}`)).toBeFalse();
  });
});
