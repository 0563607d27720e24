/**
 * Builds the dashboard as static files. `bun dashboard/build.ts FOLDER` builds into that folder.
 * `--cached FOLDER` builds into a subfolder named by a hash of the sources, unless it exists already.
 * Prints the path of the built folder.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";

import { makeOnce } from "../shared/make-once.ts";
import { cachedFolder } from "./cache.ts";
import { compiledMessages } from "./messages.ts";

const ROOT = join(import.meta.dir, "..");

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
  const { outputs } = await Bun.build({
    entrypoints: [join(ROOT, "dashboard/index.html")],
    outdir,
    target: "browser",
    splitting: true,
    minify: true,
    publicPath: "/",
    define: { "process.env.NODE_ENV": '"production"' },
    plugins: [compiledMessages],
  });
  // Compresses at build time, so that the API process need not do it at every start.
  for (const { path } of outputs) {
    const content = readFileSync(path);
    writeFileSync(`${path}.br`, brotliCompressSync(content));
    writeFileSync(`${path}.gz`, gzipSync(content));
  }
  return resolve(outdir);
}
