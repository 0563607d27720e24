/**
 * Which tests can see a change.
 *
 * A test sees the files that it imports, directly or not. An end-to-end test also sees the
 * processes that its stack starts: which ones is told by what it and the harness it imports speak
 * of, as {@link PROCESSES} says. A file that no module imports, such as a unit file or a page of
 * `docs/`, is seen by the tests that name it. All tests see a changed file of the product that none
 * of them sees by these rules.
 */
import { existsSync, readFileSync } from "node:fs";
import { basename, join, normalize } from "node:path";

import { run } from "../../deploy/packages/run.ts";

const ROOT = join(import.meta.dir, "../..");

/** What starts a stack. */
const STACK = "test/harness/stack.ts";

/**
 * Processes of a stack: the module each starts with, and what the text of a test that can see it
 * contains.
 */
const PROCESSES: { main: string; spokenOf: RegExp }[] = [
  { main: "deploy/local/main.ts", spokenOf: /(?:)/ },
  { main: "deploy/local/clickhouse/main.ts", spokenOf: /click|analytics|metrics/ },
  { main: "api/main.ts", spokenOf: /(?:)/ },
  { main: "redirector/main.ts", spokenOf: /short_url|redirector/ },
  { main: "worker/main.ts", spokenOf: /clicks|analytics|worker/ },
  { main: "dashboard/src/main.tsx", spokenOf: /harness\/browser/ },
];

/**
 * A resource of the API is seen by the tests that speak of its routes; the other folders of the API
 * by all.
 */
const RESOURCES = [
  "analytics",
  "branding",
  "clicks",
  "domains",
  "keys",
  "members",
  "reports",
  "shares",
  "usage",
  "views",
  "webhooks",
];

/** These go through the whole product, so they see every change in it. */
const MAIN_FILES = new Set(["test/e2e/main-job.test.ts", "test/e2e/specification.test.ts"]);

const CODE = /\.tsx?$/;
const PRODUCT =
  /^(api|cli|clients|redirector|worker|shared|dashboard|deploy)\/|^package(-lock)?\.json$/;

export type Affected = {
  changed: string[];
  unit: string[];
  endToEnd: string[];
};

/** Finds which of these files of tests can see what differs from `commit`, or is new. */
export function findAffected(
  commit: string,
  unit: readonly string[],
  endToEnd: readonly string[],
): Affected {
  const changed = findChanged(commit);
  const views = [...unit, ...endToEnd].map(viewOf);
  const affected = new Set(changed.flatMap((path) => findSeers(path, views)));
  const isEndToEnd = (test: string) => endToEnd.includes(test);
  return {
    changed,
    unit: [...affected].filter((test) => !isEndToEnd(test)),
    endToEnd: [...affected].filter(isEndToEnd),
  };
}

/** A test, and the files that it sees. */
type View = { test: string; seen: ReadonlySet<string> };

export const viewOf = (test: string): View => ({ test, seen: seenBy(test) });

/** The tests that see a changed file. */
export function findSeers(path: string, views: readonly View[]): string[] {
  const isProduct = PRODUCT.test(path) && !path.endsWith(".md");
  const seers = views.filter(
    ({ test, seen }) =>
      seen.has(path) ||
      (isProduct && MAIN_FILES.has(test)) ||
      (!CODE.test(path) && isNamed(path, seen)),
  );
  const isSeen = seers.some(({ test }) => !MAIN_FILES.has(test));
  return (isSeen || !isProduct ? seers : views).map(({ test }) => test);
}

/** Runs git; returns the lines that it prints. */
export function git(...args: string[]): string[] {
  return run(["git", ...args], ROOT).split("\n");
}

/** Paths that differ from a commit, or are not known to git. */
export function findChanged(commit: string): string[] {
  const differing = git("diff", "--name-only", "--no-renames", commit);
  const unknown = git("ls-files", "--others", "--exclude-standard");
  return [...new Set([...differing, ...unknown])].filter((path) => path !== "");
}

/** Whether a file is named in the text of a test or of what the test imports from `test/`. */
const isNamed = (path: string, seen: ReadonlySet<string>): boolean =>
  [...seen].some(
    (file) => /\.test\.tsx?$|^test\//.test(file) && textOf(file).includes(basename(path)),
  );

/** The files that a test sees. */
function seenBy(test: string): Set<string> {
  const imported = importsOf(test);
  if (!imported.has(STACK)) return imported;
  const spoken = [...imported]
    .filter((path) => path.startsWith("test/") && path !== STACK)
    .map(textOf)
    .join("\n");
  const started = PROCESSES.filter(({ spokenOf }) => spokenOf.test(spoken)).flatMap(({ main }) => [
    ...importsOf(main),
  ]);
  const isSeen = (path: string): boolean => {
    const resource = RESOURCES.find((name) => path.startsWith(`api/${name}/`));
    return resource === undefined || new RegExp(`[/"\`]${resource}\\b`).test(spoken);
  };
  return new Set([...imported, ...started.filter(isSeen)]);
}

const imports = new Map<string, string[]>();
const texts = new Map<string, string>();
const transpilers = {
  ts: new Bun.Transpiler({ loader: "ts" }),
  tsx: new Bun.Transpiler({ loader: "tsx" }),
};

/** A file, and all files that it imports, directly or not. */
function importsOf(path: string): Set<string> {
  const found = new Set<string>([path]);
  // A set yields what is added while it is read.
  for (const file of found) for (const target of directImports(file)) found.add(target);
  return found;
}

function directImports(path: string): string[] {
  const known = imports.get(path);
  if (known !== undefined) return known;
  const found = CODE.test(path) ? scan(path) : [];
  imports.set(path, found);
  return found;
}

const scan = (path: string): string[] =>
  transpilers[path.endsWith("x") ? "tsx" : "ts"]
    .scanImports(textOf(path))
    .map((found) => found.path)
    .filter((specifier) => specifier.startsWith("."))
    .map((specifier) => normalize(join(path, "..", specifier)))
    .filter((target) => existsSync(join(ROOT, target)));

function textOf(path: string): string {
  const known = texts.get(path);
  if (known !== undefined) return known;
  const text = readFileSync(join(ROOT, path), "utf8");
  texts.set(path, text);
  return text;
}
