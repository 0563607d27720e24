/** Names the values of rules and filters that the API has as codes, and reads such names. */
import { composeLetters } from "../../../shared/contracts/text.ts";
import { COUNTRIES } from "../../../shared/countries.ts";
import { describeValue } from "../../../shared/statistics/values.ts";
import { perLanguage, statisticsLanguage } from "../languages/translate.ts";
import { type ListOption, readList } from "./complete-list.ts";

/** The languages of ISO 639-1 that browsers are set to, and variants that sites tell apart. */
const LANGUAGES = `
  af am ar az be bg bn bs ca cs cy da de de-at de-ch el en en-au en-ca en-gb en-in en-us eo es es-419
  es-es es-mx et eu fa fi fil fr fr-be fr-ca fr-ch ga gl gu he hi hr hu hy id is it ja ka kk km kn ko
  ky lb lo lt lv mk ml mn mr ms mt my nb ne nl nl-be nn pa pl ps pt pt-br pt-pt ro ru si sk sl so sq
  sr sv sw ta te th tr uk ur uz vi zh zh-cn zh-hk zh-tw zu
`;

/** Browsers and systems, as clicks are counted by them. */
const BROWSERS = `
  Chrome,Safari,Firefox,Edge,Samsung Internet,Opera,Instagram,Facebook,TikTok,LinkedIn,Snapchat,WeChat,
  Line,GSA,Chrome WebView,WebKit,DuckDuckGo,Vivaldi,Yandex,UCBrowser,MIUI Browser,Huawei Browser,
  Android Browser,Silk,Opera Mini,Whale,IE
`;
const SYSTEMS =
  "Android,iOS,Windows,macOS,Linux,ChromeOS,Ubuntu,Fedora,webOS,Tizen,KAIOS,Xbox,PlayStation";

const CODES: Readonly<Record<string, readonly string[]>> = {
  country: [...COUNTRIES],
  language: LANGUAGES.trim().split(/\s+/),
};

const isCoded = (kind: string): boolean => Object.hasOwn(CODES, kind);

const nameOf = (kind: string, code: string): string =>
  describeValue(kind, code, statisticsLanguage());

const named = perLanguage((language) =>
  Object.fromEntries(
    Object.entries(CODES).map(([kind, codes]) => [
      kind,
      codes
        .map((code) => ({ code, name: nameOf(kind, code) }))
        .toSorted((a, b) => a.name.localeCompare(b.name, language)),
    ]),
  ),
);

const OTHERS: Readonly<Record<string, readonly ListOption[]>> = {
  browser: readList(BROWSERS).map((name) => ({ name })),
  os: readList(SYSTEMS).map((name) => ({ name })),
};

/** The codes and names of a kind of values, by name. */
export const codesOf = (kind: "country" | "language"): { code: string; name: string }[] =>
  named()[kind] ?? [];

/** The options of a field for a kind of values. */
export const optionsOf = (kind: string): readonly ListOption[] =>
  named()[kind] ?? OTHERS[kind] ?? [];

/** The values of a text of names and codes, as the API has them; others stay as they are. */
export function toCodes(kind: string, text: string): string[] {
  const known = named()[kind];
  if (known === undefined) return readList(text);
  const byText = new Map([
    ...known.map(({ code }) => [code.toLowerCase(), code] as const),
    ...known.map(({ name, code }) => [name.toLowerCase(), code] as const),
  ]);
  return readList(text).map((typed) => byText.get(composeLetters(typed).toLowerCase()) ?? typed);
}

/** Languages as browsers send them: a quality, after a semicolon, stays with its own. */
export const toAcceptLanguage = (text: string): string =>
  text
    .split(/[,\t\r\n]|;(?!\s*q=)/i)
    .map((language) => toCodes("language", language).join(";"))
    .filter((language) => language !== "")
    .join(",");

/** A text of the names of values. A name that would be read as another one stays a code. */
export const toNames = (kind: string, values: readonly string[]): string =>
  values
    .map((value) => {
      const name = isCoded(kind) ? nameOf(kind, value) : value;
      return toCodes(kind, name).join(",") === value ? name : value;
    })
    .join(", ");
