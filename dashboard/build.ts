/**
 * Builds the dashboard as static files. `bun dashboard/build.ts FOLDER` builds into that folder.
 * `--cached FOLDER` builds into a subfolder named by a hash of the sources, unless it exists
 * already. Prints the path of the built folder.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";

import { makeOnce } from "../shared/make-once.ts";
import { compiledMessages, drawnShapes } from "./build-plugins.ts";
import { cachedFolder } from "./cache.ts";
import { addFirstScript, scriptsByModule } from "./page.ts";

const ROOT = join(import.meta.dir, "..");

const OPTIONS = {
  target: "browser",
  minify: true,
  define: { "process.env.NODE_ENV": '"production"' },
} as const;

const [first, second] = process.argv.slice(2);
const folder = first === "--cached" ? second : first;
if (folder === undefined) {
  console.error("Usage: bun dashboard/build.ts [--cached] FOLDER");
  process.exit(2);
}
console.log(first === "--cached" ? await buildCached(resolve(folder)) : await build(folder));

async function buildCached(cache: string): Promise<string> {
  const target = cachedFolder(cache);
  await makeOnce(target, build);
  return target;
}

async function build(outdir: string): Promise<string> {
  const { outputs, metafile } = await Bun.build({
    ...OPTIONS,
    entrypoints: [join(ROOT, "dashboard/index.html")],
    outdir,
    splitting: true,
    publicPath: "/",
    plugins: [compiledMessages, drawnShapes],
    metafile: true,
  });
  if (metafile === undefined) throw new Error("The build has no list of its files.");
  const first = await buildFirstScript(outdir, scriptsByModule(metafile));
  const page = join(outdir, "index.html");
  writeFileSync(page, addFirstScript(readFileSync(page, "utf8"), `/${basename(first)}`));
  // Compresses at build time, so that the API process need not do it at every start.
  for (const path of [...outputs.map(({ path }) => path), first]) {
    const content = readFileSync(path);
    writeFileSync(`${path}.br`, brotliCompressSync(content));
    writeFileSync(`${path}.gz`, gzipSync(content));
  }
  return resolve(outdir);
}

/**
 * Builds the script that runs before the page is painted, apart from the application, of which it
 * must not wait for a part. Returns its path.
 */
async function buildFirstScript(
  outdir: string,
  scripts: Record<string, string[]>,
): Promise<string> {
  const { outputs } = await Bun.build({
    ...OPTIONS,
    entrypoints: [join(ROOT, "dashboard/src/startup/startup.ts")],
    outdir,
    format: "iife",
    naming: "[name]-[hash].[ext]",
    define: { ...OPTIONS.define, SCRIPTS: JSON.stringify(scripts) },
  });
  const [first] = outputs;
  if (first === undefined) throw new Error("The first script has not been built.");
  return first.path;
}
