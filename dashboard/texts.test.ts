/**
 * Goal: everything that the dashboard says is in every language. Method: read the catalogues, and
 * the sources with TypeScript's own parser.
 */
import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import compile from "icu-minify/compile";

import type { Messages } from "../shared/languages/messages.ts";
import statistics from "../shared/languages/statistics/en.json";
import { listMessages, listPlaceholders } from "../test/harness/marked-catalogue.ts";
import { readTexts, type Texts } from "../test/harness/read-texts.ts";
import en from "./src/languages/en.json";

const ROOT = join(import.meta.dir, "..");
const SOURCES = join(import.meta.dir, "src");
const CATALOGUES = join(SOURCES, "languages");
/** Texts of the catalogues that other pages have as well. */
const STATISTICS = join(import.meta.dir, "../shared/languages/statistics");

/** What may stay in the sources: a text of code, by its file, and why. */
const EXCEPTIONS: readonly (readonly [file: string, text: RegExp, reason: string])[] = [
  ["app.tsx", /^Shorthop$/, "the product's name"],
  ["ui/page.tsx", /^Shorthop$/, "the product's name"],
  ["commands/shortcuts.ts", /^(Ctrl|Esc)$/, "keys, as keyboards name them"],
  ["commands/commands.tsx", /^main input/, "a selector"],
  ["ui/dialog.tsx", /^form :is/, "a selector"],
  ["ui/menu.tsx", /^input, select$/, "a selector"],
  ["data/account-lists.ts", /^tag tag-/, "classes"],
  ["languages/translate.ts", /^[A-Z][a-z]{3}$/, "codes of scripts"],
  ["pages/analytics/share-button.tsx", /^<iframe /, "HTML"],
  ["pages/domains/page.tsx", /^(\{|\[\{) "/, "JSON"],
  ["data/named-values.ts", /^[\w\s,-]+$/, "codes of languages, and names of programs"],
  ["pages/rules/condition-fields.tsx", /, /, "values of conditions"],
  ["pages/rules/try-as.tsx", /^(Mozilla|de-AT|utm_source)/, "values of a request"],
];

/** Examples of input that are the same in every language: URLs, hosts and colours. */
const EXAMPLE = /^(https?:\/\/|#[\da-f]{6}$|[a-z]+(\.[a-z]+)+$)/;

const languages = readdirSync(CATALOGUES)
  .filter((name) => name.endsWith(".json"))
  .map((name) => {
    const read = (folder: string): Messages => JSON.parse(readFileSync(join(folder, name), "utf8"));
    const messages = { ...read(CATALOGUES), statistics: read(STATISTICS) };
    return { language: name.replace(".json", ""), texts: new Map(listMessages(messages)) };
  });

const english = new Map(listMessages({ ...en, statistics }));

/** The paths of the sources in a folder of the project. */
const listSources = (folder: string): string[] =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"))
    .map((name) => `${folder}/${name}`);

/** The categories of every plural of a message. */
function pluralsOf(message: string): string[][] {
  const plurals: string[][] = [];
  const visit = (node: unknown): void => {
    if (Array.isArray(node)) node.forEach(visit);
    else if (typeof node === "object" && node !== null) {
      plurals.push(Object.keys(node));
      Object.values(node).forEach(visit);
    }
  };
  visit(compile(message));
  return plurals;
}

const sources: Texts[] = readdirSync(SOURCES, { recursive: true, encoding: "utf8" })
  .filter((name) => /\.tsx?$/.test(name) && !name.endsWith(".test.ts"))
  .map((name) => readTexts(name, readFileSync(join(SOURCES, name), "utf8")));

const uses = sources.flatMap(({ uses }) => uses);

describe.each(languages)("the catalogue of $language", ({ language, texts }) => {
  test("has every text", () => {
    expect([...texts.keys()].toSorted()).toEqual([...english.keys()].toSorted());
    expect([...texts].filter(([, text]) => text.trim() === "")).toEqual([]);
  });

  test("has the placeholders of English", () => {
    const other = [...texts].filter(
      ([key, text]) =>
        listPlaceholders(text).join() !== listPlaceholders(english.get(key) ?? "").join(),
    );
    expect(other).toEqual([]);
  });

  test("has every form of its plurals", () => {
    const { pluralCategories } = new Intl.PluralRules(language).resolvedOptions();
    const incomplete = [...texts].filter(([, text]) =>
      pluralsOf(text).some((forms) => pluralCategories.some((form) => !forms.includes(form))),
    );
    expect(incomplete).toEqual([]);
  });
});

describe("the sources", () => {
  test("have no text that people read outside of the catalogues", () => {
    const found = sources
      .flatMap(({ hardCoded }) => hardCoded)
      .filter(({ text }) => !english.has(text) && !EXAMPLE.test(text))
      .filter(
        ({ place, text }) =>
          !EXCEPTIONS.some(([file, pattern]) => place.startsWith(`${file}:`) && pattern.test(text)),
      );
    expect(found).toEqual([]);
  });

  test("have no words in style sheets either", () => {
    const styles = readdirSync(join(SOURCES, "styles"));
    const found = styles.filter((name) =>
      /content:[^;]*"[^";]*\p{L}[^";]*"/u.test(readFileSync(join(SOURCES, "styles", name), "utf8")),
    );
    expect(styles.length).toBeGreaterThan(5);
    expect(found).toEqual([]);
  });

  test("use every text", () => {
    const literals = new Set(sources.flatMap(({ literals }) => literals));
    const unused = [...english.keys()].filter(
      (key) =>
        !literals.has(key) &&
        !uses.some((use) => (typeof use.key === "string" ? use.key === key : use.key.test(key))) &&
        !key.startsWith("statistics.") &&
        !key.startsWith("service.") &&
        !key.startsWith("fields."),
    );
    expect(unused).toEqual([]);
  });

  test("pass the values that a text has", () => {
    const wrong = uses.filter(({ key, values }) => {
      const keys =
        typeof key === "string" ? [key] : [...english.keys()].filter((each) => key.test(each));
      return keys.some((each) => {
        const text = english.get(each);
        return (
          text !== undefined &&
          values !== undefined &&
          values.toSorted().join() !== listPlaceholders(text).join()
        );
      });
    });
    expect(wrong).toEqual([]);
  });

  test("look texts up when they are shown: the language may change", () => {
    expect(sources.flatMap(({ early }) => early)).toEqual([]);
  });
});

test("each reason for which a destination is refused is translated", () => {
  const reasons = ["shared/contracts/web-url.ts", "api/links/destinations.ts"].flatMap((path) =>
    Array.from(
      readFileSync(join(ROOT, path), "utf8").matchAll(/"(The URL[^"]+\.)"/g),
      ([, sentence]) => sentence,
    ),
  );
  expect(reasons.length).toBeGreaterThan(6);
  const translated: unknown[] = Object.values(en.service);
  expect(reasons.filter((sentence) => !translated.includes(sentence))).toEqual([]);
});

/** What tells operators and other programs about problems. */
const NOT_OF_PEOPLE =
  /^(?:api\/(?:compat|config|data-rights|events|imports|links-log|links-snapshots|oidc)|shared\/contracts\/streams)/;

/**
 * Problems of values that people do not enter in the dashboard, but programs send; and one that the
 * page says by its code.
 */
const OF_PROGRAMS: readonly string[] = [
  '"…" cannot be combined with another dimension or with a cursor',
  'The alias "…" is reserved.',
  "The body holds too many values: … values and names at most.",
  "The body is nested too deeply: … levels at most.",
  "belongs to other dimensions",
  "cannot be changed",
  "cannot be used with link_id",
  'cannot be used with the period "all"',
  "exactly one of short_url and alias is required",
  "is not valid",
  "must be …",
  "must be …, which this version reads",
  "must be a colour such as 1d4ed8 or #1d4ed8",
  "must be a date (2026-01-31) or an instant (2026-01-31T12:00:00Z)",
  "must be a date such as 2026-01-31",
  "must be a text",
  "must be absolute paths, or http or https URLs",
  "must be an IANA time zone such as Europe/Berlin",
  "must be an image in Base64",
  "must be false: the account has no logo; set one by /v1/branding",
  "must be ids of links",
  "must be one of …",
  "must be one of …, or empty where it is unknown",
  "must be the id of a link's …, each once",
  "must be the id of an event that is still kept",
  "must be the next_cursor of this list in the same order",
  "must be the query of a URL, percent-encoded, without a question mark",
  "must be ……",
  "must not name a dimension twice",
  "must not name a link twice",
  "must not reach before the year 1",
];

/** A sentence as its source has it: with values in it, or without. */
const toSource = (sentence: string): string => sentence.replaceAll(/\{\w+\}/g, "…");

/** Whether a text says what is wrong with a value: by its words, or by what it is part of. */
const isProblem = ({ text, within }: Texts["hardCoded"][number]): boolean =>
  /^(?:must|expected|cannot|needs|belongs|exactly|the rules) /.test(text) ||
  within.some((name) => /problem$|^invalid(?:Field|Domain)$/i.test(name));

const problems: string[] = [
  ...listSources("api"),
  ...listSources("shared/contracts"),
  "shared/countries.ts",
]
  .filter((path) => !NOT_OF_PEOPLE.test(path))
  .flatMap((path) => readTexts(path, readFileSync(join(ROOT, path), "utf8")).hardCoded)
  .filter(isProblem)
  .filter(({ within }) => !within.includes("textOrNull"))
  .map(({ text }) => text);

test("each problem that the API names of a value that people enter is translated", () => {
  expect(problems.length).toBeGreaterThan(90);
  const known = new Set([...Object.values(en.service).map(toSource), ...OF_PROGRAMS]);
  expect(problems.filter((problem) => !known.has(problem))).toEqual([]);
});

test("the sentences that are translated are those of the API and its schemas", () => {
  const said = [...listSources("api"), ...listSources("shared/contracts")]
    .map((path) => readFileSync(join(ROOT, path), "utf8"))
    .join("\n");
  const unsaid = Object.values(en.service).filter(
    (sentence) => !said.includes(`"${sentence}"`) && !problems.includes(toSource(sentence)),
  );
  expect(unsaid).toEqual([]);
  expect(OF_PROGRAMS.filter((problem) => !problems.includes(problem))).toEqual([]);
});
