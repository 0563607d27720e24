/**
 * Goal: the first page loads fast, in every language. Method: build the dashboard and read its
 * files.
 */
import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { findShapes } from "../shared/statistics/world-shapes.ts";
import de from "./src/languages/de.json";
import en from "./src/languages/en.json";
import { modulesOf } from "./src/startup/page-needs.ts";

/** The scripts that the first page needs, compressed as they are served. */
const INITIAL_KB_MAX = 150;

const ROOT = join(import.meta.dir, "..");

/** Builds the dashboard, unless it is built; returns its folder. */
function build(): string {
  const cache = join(ROOT, ".local", "dashboard");
  const script = join(ROOT, "dashboard/build.ts");
  const { stdout, exitCode } = Bun.spawnSync([process.execPath, script, "--cached", cache]);
  expect(exitCode).toBe(0);
  return stdout.toString().trim();
}

/** The names of the scripts that a page loads before it runs. */
function initialScripts(folder: string): string[] {
  const page = readFileSync(join(folder, "index.html"), "utf8");
  const found = new Set(
    [...page.matchAll(/<script [^>]*src="\/([^"]+)"/g)].map(([, name = ""]) => name),
  );
  for (const name of found) {
    const script = readFileSync(join(folder, name), "utf8");
    // Not `import(…)`, which loads a script when it is needed.
    for (const [, other = ""] of script.matchAll(/(?:from|import) ?"(?:\.\/|\/)([^"]+\.js)"/g)) {
      found.add(other);
    }
  }
  return [...found];
}

const folder = build();
const initial = initialScripts(folder);
const read = (name: string): string => readFileSync(join(folder, name), "utf8");

test("the first page needs no more scripts than a phone loads quickly", () => {
  const bytes = initial.reduce(
    (sum, name) => sum + readFileSync(join(folder, `${name}.br`)).length,
    0,
  );
  expect(bytes).toBeGreaterThan(50_000);
  expect(bytes / 1024).toBeLessThan(INITIAL_KB_MAX);
  // A schema in one of its modules would bring the library of schemas: a quarter of all.
  expect(initial.filter((name) => read(name).includes("_zod"))).toEqual([]);
});

test("the first page has the texts of English, and loads those of another language on demand", () => {
  const scripts = initial.map(read).join("\n");
  expect(scripts).toContain(en.signIn.title);
  expect(scripts).toContain(en.shares.revokeText);
  expect(scripts).not.toContain(de.shares.revokeText);
  const others = readdirSync(folder).filter(
    (name) => name.endsWith(".js") && !initial.includes(name),
  );
  expect(others.filter((name) => read(name).includes(de.shares.revokeText))).toHaveLength(1);
});

test("messages are compiled: no script parses them", () => {
  const scripts = readdirSync(folder)
    .filter((name) => name.endsWith(".js"))
    .map(read)
    .join("\n");
  expect(scripts).not.toContain("{count, plural,");
  expect(scripts).not.toContain("EXPECT_ARGUMENT_CLOSING_BRACE");
});

const html = read("index.html");

test("the first script runs before anything is painted, and is small", () => {
  const name = /<script src="\/(startup-[0-9a-z]{8}\.js)"><\/script>/.exec(html)?.[1] ?? "";
  expect(html.indexOf(name)).toBeLessThan(html.indexOf("stylesheet"));
  expect(readFileSync(join(folder, `${name}.br`)).length).toBeLessThan(4_096);
});

test.each([
  "/acct_1/live/links/import",
  "/acct_1/live/links/link_1",
  "/acct_1/live/links/link_1/rules",
  "/acct_1/live/analytics",
  "/acct_1/live/live",
  "/acct_1/live/tags",
  "/acct_1/live/tags/sale",
  "/acct_1/live/domains",
  "/acct_1/live/domains/example.com",
  "/acct_1/live/usage",
  "/acct_1/live/webhooks/hook_1",
  "/acct_1/test/settings/keys",
  "/invite/token",
])("the first script names the scripts of %s, and of its language", (path) => {
  const first = read(initial.find((name) => name.startsWith("startup")) ?? "");
  const modules = modulesOf(path, "de");
  expect(modules.length).toBeGreaterThan(2);
  for (const module of modules) {
    const [, list = ""] = new RegExp(`"${module}":\\[([^\\]]*)\\]`).exec(first) ?? [];
    const names = [...list.matchAll(/"([^"]+)"/g)].map(([, name = ""]) => name);
    expect(names.length).toBeGreaterThan(0);
    expect(readdirSync(folder)).toEqual(expect.arrayContaining(names));
  }
});

test("the map's shapes are drawn at build time: no script has the geography", () => {
  const scripts = readdirSync(folder)
    .filter((name) => name.endsWith(".js"))
    .map(read)
    .join("\n");
  expect(scripts).toContain(findShapes()[0]?.path ?? "no shape");
  expect(scripts).not.toContain("Topology");
});
