/**
 * The pages of the site: the committed ones, at their own paths, with links that lead to a page of
 * the site or else to the repository.
 */
import { readFileSync } from "node:fs";
import { join, posix } from "node:path";

export const REPOSITORY = "https://github.com/shorthop/shorthop";

const COMMITTED = ["docs/**/*.md", "clients/*/README.md", "{CONTRIBUTING,SECURITY,CHANGELOG}.md"];

/** Filled in by its reader. */
const TEMPLATE = "docs/decisions/template.md";

/** The list of all pages, in the parts of the site. */
const CONTENTS = "docs/README.md";
const DECISIONS = "docs/decisions/README.md";

/** The introduction of the reference, which the OpenAPI document has. */
const GUIDE = "api/openapi/guide.md";
export const REFERENCE = "reference/index.md";

/** A page in the sidebar, perhaps with others below it. */
export type Entry = { text: string; link: string; items?: Entry[] };

/** A part of the site, for one kind of reader. */
export type Section = { title: string; text: string; entries: Entry[] };

/** The texts of all pages but the reference, by their paths in the site. */
export function readPages(root: string): Map<string, string> {
  const paths = COMMITTED.flatMap((pattern) => [...new Bun.Glob(pattern).scanSync(root)])
    .filter((path) => path !== TEMPLATE)
    .toSorted();
  const targets = new Map([...paths, GUIDE].map((path) => [path, pagePath(path)]));
  return new Map(
    paths.map((path) => {
      const text = readFileSync(join(root, path), "utf8");
      return [pagePath(path), leadLinks(text, path, targets)];
    }),
  );
}

/** A folder's README is its first page. */
const pagePath = (path: string): string =>
  path === GUIDE ? REFERENCE : path.replace(/README\.md$/, "index.md");

/** A link to a file of the repository, perhaps to a heading of it. */
const FILE_LINK = /\]\((?![a-z]+:|#)(?<file>[^)#\s]*)(?<heading>#[^)\s]*)?\)/g;

const CODE_BLOCK = /(^```.*?^```)/gms;

/** `targets` has the paths of the pages in the site, by those of their files. */
function leadLinks(text: string, path: string, targets: ReadonlyMap<string, string>): string {
  const lead = (_: string, file: string, heading = ""): string => {
    const target = posix.join(posix.dirname(path), file);
    const page = targets.get(target);
    const url = page === undefined ? `${REPOSITORY}/blob/main/${target}` : `/${page}`;
    return `](${url}${heading})`;
  };
  return text
    .split(CODE_BLOCK)
    .map((part) => (part.startsWith("```") ? part : part.replaceAll(FILE_LINK, lead)))
    .join("");
}

/** Of the list of all pages: a line for each. */
const CONTENTS_ENTRY = /^- \[(?<text>[^\]]+)\]\((?<link>\/[^)]+)\)/gm;

/** Of the list of decisions: a row for each. */
const DECISIONS_ENTRY = /^\| \[\d+\]\((?<link>[^)]+)\) +\|(?<text>[^|]+)\|/gm;

/** The parts of the list of all pages; decisions are below their list. */
export function readSections(pages: ReadonlyMap<string, string>): Section[] {
  const read = (path: string): string => pages.get(pagePath(path)) ?? "";
  const decisions = readEntries(read(DECISIONS), DECISIONS_ENTRY);
  return read(CONTENTS)
    .split(/^## /m)
    .slice(1)
    .map((part) => {
      const [title = "", , text = ""] = part.split("\n");
      const entries = readEntries(part, CONTENTS_ENTRY).map((entry) =>
        entry.link === `/${pagePath(DECISIONS)}` ? { ...entry, items: decisions } : entry,
      );
      return { title, text, entries };
    });
}

const readEntries = (text: string, pattern: RegExp): Entry[] =>
  Array.from(text.matchAll(pattern), ({ groups: { text: title = "", link = "" } = {} }) => ({
    text: title.trim(),
    link,
  }));

/** The anchor that GitHub gives to a heading, by which the committed pages link to it. */
export const slugify = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_ -]/gu, "")
    .replaceAll(" ", "-");
