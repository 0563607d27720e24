/**
 * Goal: docs/glossary.md leads a newcomer to the code: its files exist, and a term is found at
 * once.
 */
import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dir, "..");

/** Few enough to read, enough to find one's way. */
const TERMS = { min: 30, max: 55 };

type Entry = { term: string; meaning: string; files: string[] };

/** The rows of the page's table: term, meaning, and one or more files in backticks. */
function readGlossary(): Entry[] {
  return readFileSync(join(ROOT, "docs/glossary.md"), "utf8")
    .split("\n")
    .map((line) => /^\| (.+) \| (.+) \| (`.+`) +\|$/.exec(line))
    .filter((row) => row !== null)
    .map(([, term = "", meaning = "", files = ""]) => ({
      term: term.trim(),
      meaning: meaning.trim(),
      files: files.split(", ").map((file) => file.replaceAll("`", "").trim()),
    }));
}

const entries = readGlossary();
const terms = entries.map(({ term }) => term.toLowerCase());

test("the glossary has 30 to 55 terms", () => {
  expect(terms.length).toBeGreaterThanOrEqual(TERMS.min);
  expect(terms.length).toBeLessThanOrEqual(TERMS.max);
});

test("every file in the glossary exists", () => {
  const missing = entries.flatMap(({ term, files }) =>
    files
      .filter((file) => file === "" || !existsSync(join(ROOT, file)))
      .map((file) => `${term}: ${file}`),
  );
  expect(missing).toEqual([]);
});

test("terms are unique and sorted", () => {
  expect(terms).toEqual([...new Set(terms)].toSorted());
});

test("every term has one sentence", () => {
  const wrong = entries.filter(({ meaning }) => !/^[A-Z0-9`][^.]*(?:\.\d[^.]*)*\.$/.test(meaning));
  expect(wrong.map(({ term }) => term)).toEqual([]);
});
