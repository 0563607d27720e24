/** Goal: documents name files that exist, and their links lead somewhere. */
import { expect, test } from "bun:test";
import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";

import manifest from "../package.json" with { type: "json" };

const ROOT = join(import.meta.dir, "..");

/** Folders whose files a build, or a run of the tests or of a benchmark, writes. */
const GENERATED = /^(?:(?:test|bench)\/results|dist)\//;

/** Parts of a path that the reader replaces. */
const PLACEHOLDER = /NNNN|NAME/;

/** An operator's own file, beside the example that the repository has. */
const OPERATORS = new Set(["deploy/docker/.env"]);

type Document = { path: string; text: string };

const readDocument = (path: string): Document => ({
  path,
  text: readFileSync(join(ROOT, path), "utf8").replaceAll(/^```.*?^```/gms, ""),
});

const documents = ["*.md", "docs/**/*.md", "clients/*/*.md"]
  .flatMap((pattern) => [...new Bun.Glob(pattern).scanSync(ROOT)])
  .map((path) => readDocument(path));

/** A change is about the time when it was made. */
const current = documents.filter(({ path }) => !path.endsWith("CHANGELOG.md"));

/** A file of ours, also when its folder is gone. */
const SOURCE = /\.(?:tsx?|mjs|sql|lua)$/;

/** Text in backticks that is a source file, or begins with a folder of the repository. */
function listPaths({ text }: Document): string[] {
  return [...text.matchAll(/`([\w.-]+\/[\w./-]*)`/g)]
    .map(([, path = ""]) => path)
    .filter((path) => SOURCE.test(path) || isFolder(path.split("/")[0] ?? ""))
    .filter((path) => !PLACEHOLDER.test(path) && !GENERATED.test(path) && !OPERATORS.has(path));
}

/**
 * Folders that begin with a dot hold what runs on this machine; `nats` and the like are in an
 * archive.
 */
const isFolder = (name: string): boolean =>
  !name.startsWith(".") && existsSync(join(ROOT, name)) && statSync(join(ROOT, name)).isDirectory();

test("every file and folder of the repository that a document names exists", () => {
  const paths = current.flatMap((document) =>
    listPaths(document).map((path) => ({ in: document.path, path })),
  );
  expect(paths.length).toBeGreaterThan(100);
  expect(paths.filter(({ path }) => !existsSync(join(ROOT, path)))).toEqual([]);
});

test("every link of a document leads to a file, and to a heading that it has", () => {
  const links = documents
    .filter(({ path }) => path !== "docs/decisions/template.md")
    .flatMap(({ path, text }) =>
      [...text.matchAll(/\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]*))?\)/g)].map(
        ([, file = "", heading]) => ({
          in: path,
          file: file === "" ? path : relative(ROOT, join(ROOT, dirname(path), file)),
          heading,
        }),
      ),
    );
  expect(links.length).toBeGreaterThan(100);
  const dead = links.filter(
    ({ file, heading }) =>
      !existsSync(join(ROOT, file)) ||
      (heading !== undefined && file.endsWith(".md") && !listHeadings(file).includes(heading)),
  );
  expect(dead).toEqual([]);
});

/** The headings of a document as they stand in a link. */
const listHeadings = (path: string): string[] =>
  [...readDocument(path).text.matchAll(/^#+ (.+)$/gm)].map(([, title = ""]) =>
    title
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, "")
      .replaceAll(" ", "-"),
  );

test("every page of docs is in its list", () => {
  const list = readDocument("docs/README.md").text;
  const pages = documents.map(({ path }) => path).filter((path) => /^docs\/[^/]+$/.test(path));
  expect(pages.filter((path) => !list.includes(`](${path.slice("docs/".length)})`))).toEqual([
    "docs/README.md",
  ]);
});

test("every benchmark has a section in docs/benchmarks.md", () => {
  const sections = listHeadings("docs/benchmarks.md");
  const benchmarks = Object.keys(manifest.scripts)
    .filter((name) => name.startsWith("bench:"))
    .map((name) => name.slice("bench:".length));
  expect(benchmarks.filter((name) => !sections.includes(name))).toEqual([]);
});
