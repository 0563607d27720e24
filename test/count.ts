/**
 * `bun run count [FOLDER …]`: how large the product is, by room, and how its parts are made. A room
 * is a folder of the repository. Lines are those of source files without tests and generated code;
 * tokens leave comments out. "Factories" are exported functions `create*`, `start*` and `open*`,
 * "parameter types" are types called `*Deps` or `*Options`; `Pick<`, `ReturnType<` and
 * `Parameters<` are counted wherever they stand.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";

import ts from "typescript";

const ROOT = join(import.meta.dir, "..");

/** Rooms of the product; tests, what serves them, and benchmarks are counted beside them. */
const ROOMS = ["api", "cli", "clients", "dashboard", "deploy", "redirector", "shared", "worker"];

const SOURCES = "**/*.{ts,tsx,mjs,sql,css,html,lua,py}";
const IS_TEST = /\.test\.tsx?$|\/test_\w+\.py$/;
const IS_GENERATED =
  /^clients\/typescript\/src\/schema\.ts$|\/(?:node_modules|dist|_sync)\/|shorthop\/(?:models|_async\/resources)\.py$/;

/** A file of at most so many lines is a small one. */
const SMALL_LINES = 40;

/** Ways of making parts that this house no longer adds to. */
const PATTERNS = {
  factories: /^export (?:async )?(?:function|const) (?:create|start|open)[A-Z]/gm,
  "parameter types": /^(?:export )?(?:type|interface) \w+(?:Deps|Options)\b/gm,
  "Pick<": /\bPick</g,
  "ReturnType<": /\bReturnType</g,
  "Parameters<": /\bParameters</g,
} as const;

export type Pattern = keyof typeof PATTERNS;

type Size = { files: number; small: number; lines: number; tokens: number };
type Count = Size & Record<Pattern, number>;

const EMPTY: Count = {
  files: 0,
  small: 0,
  lines: 0,
  tokens: 0,
  factories: 0,
  "parameter types": 0,
  "Pick<": 0,
  "ReturnType<": 0,
  "Parameters<": 0,
};

const COLUMNS = Object.keys(EMPTY) as (keyof Count)[];

/** Counts the sources of a folder that `isCounted` selects. */
function countFolder(folder: string, isCounted: (path: string) => boolean): Count {
  return sum(listSources(folder, isCounted).map(countFile));
}

const listSources = (folder: string, isCounted: (path: string) => boolean): string[] =>
  [...new Bun.Glob(`${folder}/${SOURCES}`).scanSync(ROOT)].filter(
    (path) => !IS_GENERATED.test(path) && isCounted(path),
  );

const readSource = (path: string): string => readFileSync(join(ROOT, path), "utf8");

function countFile(path: string): Count {
  const text = readSource(path);
  const lines = text.split("\n").length - 1;
  const count = {
    ...EMPTY,
    files: 1,
    small: lines <= SMALL_LINES ? 1 : 0,
    lines,
    tokens: countTokens(path, text),
  };
  for (const pattern of Object.keys(PATTERNS) as Pattern[])
    count[pattern] = text.match(PATTERNS[pattern])?.length ?? 0;
  return count;
}

/** Tokens of TypeScript; of other languages, words and signs. */
function countTokens(path: string, text: string): number {
  if (!/\.(?:tsx?|mjs)$/.test(path)) return text.match(/\w+|[^\s\w]/g)?.length ?? 0;
  return countLeaves(ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true));
}

/** Leaves of the parse tree: a scanner alone takes templates and JSX for other tokens. */
function countLeaves(node: ts.Node): number {
  if (ts.isJSDoc(node) || node.pos === node.end) return 0;
  const children = node.getChildren();
  return children.length === 0 ? 1 : children.reduce((all, one) => all + countLeaves(one), 0);
}

const isTest = (path: string): boolean => IS_TEST.test(path);
const isSource = (path: string): boolean => !IS_TEST.test(path);

/** Counts the sources of each room, without tests. */
const countRooms = (rooms: readonly string[] = ROOMS): Record<string, Count> =>
  Object.fromEntries(rooms.map((room) => [room, countFolder(room, isSource)]));

/** How often the product has each pattern. */
export function countPatterns(): Record<Pattern, number> {
  const texts = ROOMS.flatMap((room) => listSources(room, isSource)).map(readSource);
  const entries = Object.entries(PATTERNS).map(([name, pattern]) => [
    name,
    texts.reduce((total, text) => total + (text.match(pattern)?.length ?? 0), 0),
  ]);
  return Object.fromEntries(entries) as Record<Pattern, number>;
}

function sum(counts: readonly Count[]): Count {
  const total = { ...EMPTY };
  for (const count of counts) for (const column of COLUMNS) total[column] += count[column];
  return total;
}

function printCounts(folders: readonly string[]): void {
  const rooms = countRooms(folders.length === 0 ? ROOMS : folders);
  const beside = {
    tests: sum([...ROOMS, "test", "bench"].map((folder) => countFolder(folder, isTest))),
    "what serves tests": countFolder("test", isSource),
    benchmarks: countFolder("bench", isSource),
  };
  console.table({
    ...rooms,
    product: sum(Object.values(rooms)),
    ...(folders.length === 0 ? beside : {}),
  });
}

if (import.meta.main) printCounts(process.argv.slice(2));
