/**
 * Builds the dashboard as static files. `bun dashboard/build.ts FOLDER` builds into that folder.
 * `--cached FOLDER` builds into a subfolder named by a hash of the sources, unless it exists
 * already. Prints the path of the built folder.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { basename, join, relative, resolve } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";

import type { BuildMetafile, BunPlugin } from "bun";
import compile from "icu-minify/compile";

import { makeOnce } from "../shared/process-lock.ts";
import * as shapes from "../shared/statistics/world-shapes.ts";
import { cachedFolder } from "./cache.ts";

const ROOT = join(import.meta.dir, "..");

const OPTIONS = {
  target: "browser",
  minify: true,
  define: { "process.env.NODE_ENV": '"production"' },
} as const;

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

type Messages = { [name: string]: string | Messages };

/** A message as the page formats it: a text, or a list of texts and placeholders. */
type Compiled = ReturnType<typeof compile> | { [name: string]: Compiled };

/** Compiles a catalogue. Throws for a message that is no ICU message. */
const compileMessages = (messages: string | Messages): Compiled =>
  typeof messages === "string"
    ? compile(messages)
    : Object.fromEntries(
        Object.entries(messages).map(([name, message]) => [name, compileMessages(message)]),
      );

/** Messages are compiled, so that the page needs no parser; the development server parses them. */
const compiledMessages: BunPlugin = {
  name: "compiled messages",
  setup(build) {
    build.onResolve({ filter: /^use-intl\/format-message$/ }, () => ({
      path: Bun.fileURLToPath(import.meta.resolve("use-intl/format-message/format-only")),
    }));
    build.onLoad(
      { filter: /(dashboard\/src|shared)\/languages\/(statistics\/)?[\w-]+\.json$/ },
      async ({ path }) => {
        const messages: Messages = await Bun.file(path).json();
        return { contents: JSON.stringify(compileMessages(messages)), loader: "json" };
      },
    );
  },
};

/** The shapes of the world map as they are drawn, without the geography behind them. */
const drawnShapes: BunPlugin = {
  name: "drawn shapes",
  setup(build) {
    build.onLoad({ filter: /shared\/statistics\/world-shapes\.ts$/ }, () => {
      const { findShapes, WIDTH, HEIGHT } = shapes;
      const contents = `
        const shapes = ${JSON.stringify(findShapes())};
        export const findShapes = () => shapes;
        export const WIDTH = ${WIDTH};
        export const HEIGHT = ${HEIGHT};`;
      return { contents, loader: "js" };
    });
  },
};

type Outputs = BuildMetafile["outputs"];

/** Adds the first script, at a path, before the style sheet of the HTML, which loads meanwhile. */
const addFirstScript = (html: string, path: string): string =>
  html.replace('<link rel="stylesheet"', `<script src="${path}"></script>$&`);

/**
 * The scripts that each module that is loaded with `import()` needs, its own included, by the
 * module's path in the project.
 */
const scriptsByModule = ({ outputs }: BuildMetafile): Record<string, string[]> =>
  Object.fromEntries(
    Object.entries(outputs).flatMap(([path, { entryPoint }]) =>
      entryPoint === undefined || entryPoint.endsWith(".html")
        ? []
        : [[relative(ROOT, resolve(entryPoint)), importsOf(outputs, basename(path))]],
    ),
  );

/** The names of a script and of those that it needs before it runs. */
function importsOf(outputs: Outputs, name: string): string[] {
  const byName = new Map(Object.entries(outputs).map(([path, output]) => [basename(path), output]));
  const found = new Set([name]);
  // A set visits what is added to it meanwhile.
  for (const each of found) {
    for (const { path, kind } of byName.get(each)?.imports ?? [])
      if (kind === "import-statement") found.add(basename(path));
  }
  return [...found];
}

// Last, when all that it uses is there.
const [first, second] = process.argv.slice(2);
const folder = first === "--cached" ? second : first;
if (folder === undefined) {
  console.error("Usage: bun dashboard/build.ts [--cached] FOLDER");
  process.exit(2);
}
console.log(first === "--cached" ? await buildCached(resolve(folder)) : await build(folder));
