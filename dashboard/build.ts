/**
 * Builds the dashboard into static files. `bun dashboard/build.ts FOLDER` builds into that folder;
 * `--cached FOLDER` into a folder within it, named for the sources, unless that is there already. Prints
 * the folder's path.
 */
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join, resolve } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";

const ROOT = join(import.meta.dir, "..");

/** What the page is made of. */
const SOURCES = [
  "dashboard/**/*",
  "shared/contracts/*.ts",
  "clients/typescript/src/*.ts",
  "package-lock.json",
];

const [first, second] = process.argv.slice(2);
const folder = first === "--cached" ? second : first;
if (folder === undefined) {
  console.error("Usage: bun dashboard/build.ts [--cached] FOLDER");
  process.exit(2);
}
console.log(first === "--cached" ? await buildCached(resolve(folder)) : await build(folder));

async function buildCached(cache: string): Promise<string> {
  const target = join(cache, hashSources());
  if (existsSync(target)) return target;
  mkdirSync(cache, { recursive: true });
  const fresh = mkdtempSync(join(cache, "new-"));
  await build(fresh);
  try {
    renameSync(fresh, target);
  } catch (error) {
    // Another run was faster.
    rmSync(fresh, { recursive: true });
    if (!existsSync(target)) throw error;
  }
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
  });
  // Here once, rather than at every start of a process that serves them.
  for (const { path } of outputs) {
    const content = readFileSync(path);
    writeFileSync(`${path}.br`, brotliCompressSync(content));
    writeFileSync(`${path}.gz`, gzipSync(content));
  }
  return resolve(outdir);
}

function hashSources(): string {
  const hash = createHash("sha256").update(Bun.version);
  for (const pattern of SOURCES) {
    const paths = [...new Bun.Glob(pattern).scanSync({ cwd: ROOT, onlyFiles: true })];
    for (const path of paths.toSorted((a, b) => (a < b ? -1 : 1)))
      hash.update(path).update(readFileSync(join(ROOT, path)));
  }
  return hash.digest("hex").slice(0, 16);
}
