/**
 * `bun run docs`: builds the documentation site in `dist/docs`, from the committed pages and the
 * OpenAPI document. VitePress is installed in `.local`, for this command only; without the npm
 * registry nothing is built.
 */
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import { hashFiles, makeOnce } from "../../shared/process-lock.ts";
import { run } from "../packages/run.ts";
import { readPages, readSections, type Section } from "./pages.ts";
import { OBJECTS, type OpenApiDocument, printReference } from "./reference.ts";

const ROOT = join(import.meta.dir, "../..");
/** Where the site is built. */
export const OUTPUT = join(ROOT, "dist/docs");

/** VitePress, and in it the pages: what they import is looked for in the folders above them. */
const TOOLS = join(ROOT, ".local/docs-site", hashFiles(import.meta.dir, ["package*.json"]));
const PAGES = join(TOOLS, "pages");

const { description }: { description: string } = JSON.parse(
  readFileSync(join(ROOT, "package.json"), "utf8"),
);

/** What this command exits with if the registry does not give VitePress. */
const NOT_INSTALLED = 3;

/** Builds the site; returns false, with the reason printed, without the npm registry. */
export async function buildSite(): Promise<boolean> {
  try {
    await makeOnce(TOOLS, install);
  } catch (error) {
    // Packages that are not those of the lock file are no reason to go on.
    if (!(error instanceof Error) || error.message.includes("EINTEGRITY")) throw error;
    console.error(
      `!!! Without VitePress of the npm registry, the site is left out:\n${error.message}`,
    );
    return false;
  }
  rmSync(PAGES, { recursive: true, force: true });
  const pages = readPages(ROOT);
  const sections = readSections(pages);
  const document = run([process.execPath, "api/print-openapi.ts"], ROOT);
  const api: OpenApiDocument = JSON.parse(document);
  for (const [path, text] of pages) write(path, text);
  for (const [path, text] of printReference(api)) write(path, text);
  write("index.md", printHome(sections));
  writeSettings(sections, [...api.tags.map(({ name }) => name), OBJECTS]);
  runVitePress();
  return true;
}

function install(folder: string): void {
  mkdirSync(folder, { recursive: true });
  for (const name of ["package.json", "package-lock.json"])
    cpSync(join(import.meta.dir, name), join(folder, name));
  // Not `npm ci`, for the reason that `deploy/bootstrap.mjs` gives.
  run(["npm", "install", "--no-save", "--ignore-scripts", "--loglevel=error"], folder);
}

function write(path: string, text: string): void {
  mkdirSync(dirname(join(PAGES, path)), { recursive: true });
  writeFileSync(join(PAGES, path), text);
}

/** The first page: a card for each part. Its front matter is YAML, of which JSON is a subset. */
function printHome(parts: readonly Section[]): string {
  const home = {
    layout: "home",
    hero: { name: "Shorthop", tagline: description },
    features: parts.map(({ title, text, entries }) => ({
      title,
      details: text,
      link: entries[0]?.link,
    })),
  };
  return `---\n${JSON.stringify(home)}\n---\n`;
}

/** What VitePress reads of `.vitepress`: it bundles what the configuration imports. */
function writeSettings(sections: readonly Section[], resources: readonly string[]): void {
  const settings = [description, sections, resources].map((each) => JSON.stringify(each));
  write(
    ".vitepress/config.mts",
    `import { configure } from ${JSON.stringify(join(import.meta.dir, "config.ts"))};
export default configure(${settings.join(", ")});`,
  );
  cpSync(join(import.meta.dir, "theme"), join(PAGES, ".vitepress/theme"), { recursive: true });
  cpSync(join(ROOT, "dashboard/src/icon.svg"), join(PAGES, "public/icon.svg"));
}

/** Fails, naming it, where a link leads to no page. */
function runVitePress(): void {
  const vitepress = join(TOOLS, "node_modules/vitepress/bin/vitepress.js");
  const { exitCode } = Bun.spawnSync(["node", vitepress, "build", PAGES, "--outDir", OUTPUT], {
    stdio: ["ignore", "inherit", "inherit"],
  });
  if (exitCode !== 0) throw new Error("VitePress failed.");
}

if (import.meta.main) {
  if (!(await buildSite())) process.exit(NOT_INSTALLED);
  console.log(OUTPUT);
}
