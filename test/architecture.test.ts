/**
 * Goal: dependencies point one way, so that each process can be read, tested and shipped on its
 * own.
 */
import { describe, expect, test } from "bun:test";
import { basename, dirname, join } from "node:path";

import ts from "typescript";

import { JOBS, QUEUES } from "../shared/waiting-work.ts";
import { countPatterns, type Pattern } from "./count.ts";

const ROOT = join(import.meta.dir, "..");

/** The folders that each folder may import. */
const MAY_IMPORT: Record<string, readonly string[]> = {
  shared: ["shared", "package.json"],
  api: ["api", "shared"],
  // An operator does with the services of the API what customers do by its routes.
  cli: ["cli", "api", "shared"],
  redirector: ["redirector", "shared"],
  worker: ["worker", "shared"],
  deploy: ["deploy", "shared"],
  // The command line reads files as the dashboard does. A package is one file with what it imports.
  clients: ["clients", "shared"],
  // The dashboard runs in a browser: it uses our contracts, and the client that we publish.
  dashboard: ["dashboard", "shared", "clients"],
};

/** The executable of all processes, which imports their main modules. */
const EXECUTABLE = "deploy/executable.ts";

/**
 * What the local stack does in its own process, where an operator runs commands: a command takes
 * half a second to load.
 */
const LOCAL_STACK_IMPORTS: Record<string, readonly string[]> = {
  "deploy/local/main.ts": [
    "api/demo.ts",
    "api/migrations/migrate.ts",
    "dashboard/cache.ts",
    "worker/migrations/migrate.ts",
  ],
};

/** Packages that a folder must not import. */
const FORBIDDEN_PACKAGES: Record<string, readonly string[]> = {
  redirector: ["elysia", "postgres", "@clickhouse/client"],
  worker: ["elysia"],
  shared: ["elysia", "postgres", "@clickhouse/client"],
  dashboard: ["elysia", "postgres", "@clickhouse/client", "nats", "better-auth"],
};

/**
 * A shared module that opens a store, and so must not be imported where its package is forbidden.
 */
const STORE_MODULES: Record<string, string> = { "shared/postgres.ts": "postgres" };

/**
 * The folders of the redirector, each with the folders of it that it may import. What stands beside
 * them wires the process, and no folder imports it but the configuration.
 */
const REDIRECTOR_MAY_IMPORT: Record<string, readonly string[]> = {
  http: [],
  journal: [],
  limits: [],
  failures: [],
  pages: ["http"],
  visitors: ["http"],
  passwords: ["visitors"],
  cache: ["http"],
  links: ["cache"],
  redirect: [
    "http",
    "journal",
    "limits",
    "failures",
    "pages",
    "visitors",
    "passwords",
    "cache",
    "links",
  ],
};

/** Files that may read the environment: those that start a process. */
const READS_ENVIRONMENT = /\/main\.ts$|^deploy\/|^dashboard\/build\.ts$/;

/**
 * Files without SQL for PostgreSQL: what is about HTTP. ClickHouse is queried by functions that
 * take the query as a string, and this rule is not about them.
 */
const IS_HTTP = /[/-]routes\.ts$|plugin\.ts$|\/(?:app|site|model)\.ts$|^api\/http\//;

/**
 * Files that run statements whose text is no template with bound parameters: migrations and grants,
 * the schema of a backup, and queries of other products' databases.
 */
const RUNS_TEXTS =
  /^api\/(?:migrations\/migrate|imports\/(?:kutt|yourls))\.ts$|^cli\/machines\/(?:upgrade\/upgrade|backup\/postgres)\.ts$/;

/** Statements of a resource that several of its files run; others stand in the file that does. */
const IS_SQL = /(?:^|[/-])sql\.ts$/;

/** The file that binds SQL of several resources, and is itself no resource. */
const BINDS_SQL = /^api\/stores\.ts$/;

/** Files that combine the routes of several resources. */
const COMBINES_ROUTES = /\/app\.ts$|^api\/resource-routes\.ts$/;

/**
 * The only file that replies to requests over NATS: it checks the subject that the request names
 * for that.
 */
const REPLIES = "shared/nats.ts";

type Source = {
  path: string;
  folder: string;
  text: string;
  /** Every module that is imported: also types, re-exports, and dynamic imports. */
  imports: string[];
  syntax: ts.SourceFile;
};

async function readSources(folders: readonly string[]): Promise<Source[]> {
  const sources: Source[] = [];
  for (const folder of folders) {
    for await (const path of new Bun.Glob(`${folder}/**/*.{ts,tsx}`).scan(ROOT)) {
      // Tests may import anything; nothing imports a test.
      if (/\.test\.tsx?$|\/(?:node_modules|dist)\//.test(path)) continue;
      const text = await Bun.file(join(ROOT, path)).text();
      const syntax = ts.createSourceFile(path, text, ts.ScriptTarget.Latest);
      const imports = ts.preProcessFile(text).importedFiles.map(({ fileName }) => fileName);
      sources.push({ path, folder, text, imports, syntax });
    }
  }
  return sources;
}

function visitNodes(node: ts.Node, visit: (node: ts.Node) => void): void {
  visit(node);
  ts.forEachChild(node, (child) => visitNodes(child, visit));
}

/** Files of our processes that match, except the one that defines what is looked for. */
const filesWith = (pattern: RegExp, defining: string): string[] =>
  sources
    .filter(({ folder }) => ["api", "cli", "redirector", "worker", "shared"].includes(folder))
    .filter(({ path, text }) => path !== defining && pattern.test(text))
    .map(({ path }) => path)
    .toSorted(compareText);

const sources = await readSources(Object.keys(MAY_IMPORT));
/** With those that only tests and benchmarks run. */
const allSources = [...sources, ...(await readSources(["test", "bench"]))];
const apiSources = sources.filter(({ folder }) => folder === "api");
/** What uses PostgreSQL. */
const sqlSources = sources.filter(({ folder }) => folder === "api" || folder === "cli");

/**
 * How often the product may use what it replaces by classes and plain functions: what is left is
 * the public interface of the client, and types of the dashboard's library of forms.
 */
const CEILINGS: Readonly<Record<Pattern, number>> = {
  factories: 1,
  "parameter types": 7,
  "Pick<": 3,
  "ReturnType<": 1,
  "Parameters<": 0,
};

const COMMENT_WIDTH = 100;

/** The client's types, generated from the OpenAPI document. */
const GENERATED = "clients/typescript/src/schema.ts";

/** Whether a line of a comment is too wide; a URL cannot be broken. */
const isWideComment = (line: string): boolean =>
  line.length > COMMENT_WIDTH && /^\s*(?:\/\*|\*|\/\/)/.test(line) && !line.includes("://");

/** The files that a source imports by relative path. */
const targetsOf = ({ path, imports }: Source): string[] =>
  imports
    .filter((specifier) => specifier.startsWith("."))
    .map((specifier) => join(dirname(path), specifier));

/** `source -> target` of each import by relative path that a rule forbids. */
const findTargets = (
  from: readonly Source[],
  isForbidden: (target: string, source: Source) => boolean,
): string[] =>
  from.flatMap((source) =>
    targetsOf(source)
      .filter((target) => isForbidden(target, source))
      .map((target) => `${source.path} -> ${target}`),
  );

type Graph = Map<string, Set<string>>;

/** The imports between what a folder contains: files, and folders as wholes. */
function importGraph(folder: string): Graph {
  const graph: Graph = new Map();
  const within = folder === "" ? "" : `${folder}/`;
  const depth = within.split("/").length;
  const moduleOf = (path: string): string => path.split("/").slice(0, depth).join("/");
  for (const source of allSources.filter(({ path }) => path.startsWith(within))) {
    const from = moduleOf(source.path);
    const targets = graph.get(from) ?? new Set<string>();
    graph.set(from, targets);
    for (const target of targetsOf(source))
      if (target.startsWith(within) && moduleOf(target) !== from) targets.add(moduleOf(target));
  }
  return graph;
}

/** Every folder that contains source files, at any depth. */
const allFolders = (): string[] => [
  ...new Set(
    allSources.flatMap(({ path }) => {
      const parts = dirname(path).split("/");
      return parts.map((_, i) => parts.slice(0, i + 1).join("/"));
    }),
  ),
];

/**
 * Finds cycles by depth-first search: at least one in each group of modules that reach each other.
 */
function findCycles(graph: Graph): string[] {
  const cycles: string[] = [];
  const finished = new Set<string>();
  const path: string[] = [];
  function visit(module: string): void {
    const start = path.indexOf(module);
    if (start >= 0) cycles.push([...path.slice(start), module].join(" -> "));
    if (start >= 0 || finished.has(module)) return;
    path.push(module);
    for (const target of graph.get(module) ?? []) visit(target);
    path.pop();
    finished.add(module);
  }
  for (const module of graph.keys()) visit(module);
  return cycles;
}

const compareText = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

type IsQuery = (node: ts.Node, syntax: ts.SourceFile) => boolean;

/** A tagged template is a query with bound parameters, unless it is `String.raw`. */
const isBoundQuery: IsQuery = (node, syntax) =>
  ts.isTaggedTemplateExpression(node) && node.tag.getText(syntax) !== "String.raw";

/** A query whose text anything may have been written into. */
const isUnboundQuery: IsQuery = (node, syntax) =>
  (ts.isPropertyAccessExpression(node) && node.name.text === "unsafe") ||
  (ts.isElementAccessExpression(node) && /["'`]unsafe["'`]/.test(node.getText(syntax)));

/** `path:line` of each query of a kind. */
function findQueries({ path, syntax }: Source, isQuery: IsQuery): string[] {
  const found: string[] = [];
  visitNodes(syntax, (node) => {
    if (!isQuery(node, syntax)) return;
    const { line } = syntax.getLineAndCharacterOfPosition(node.getStart(syntax));
    found.push(`${path}:${line + 1}`);
  });
  return found;
}

/** Whether the file passes statements on to other files. */
const reexportsSql = ({ syntax }: Source): boolean =>
  syntax.statements.some(
    (statement) =>
      ts.isExportDeclaration(statement) &&
      statement.moduleSpecifier !== undefined &&
      ts.isStringLiteral(statement.moduleSpecifier) &&
      IS_SQL.test(statement.moduleSpecifier.text) &&
      !isTypeExport(statement),
  );

const isTypeExport = ({ isTypeOnly, exportClause }: ts.ExportDeclaration): boolean =>
  isTypeOnly ||
  (exportClause !== undefined &&
    ts.isNamedExports(exportClause) &&
    exportClause.elements.every((element) => element.isTypeOnly));

/** Whether a docstring stands between the imports: sorting imports moves a header below them. */
const hasDisplacedHeader = ({ text, syntax }: Source): boolean =>
  syntax.statements
    .filter((statement) => ts.isImportDeclaration(statement))
    .slice(1)
    .some((statement) =>
      text.slice(statement.getFullStart(), statement.getStart(syntax)).includes("/**"),
    );

/**
 * `path:line` of each pause after which a test expects something, without a comment that says what
 * must not happen meanwhile. What must happen is waited for.
 */
async function findPauses(): Promise<string[]> {
  const found: string[] = [];
  for await (const path of new Bun.Glob(
    "{api,cli,clients,deploy,redirector,shared,test,worker}/**/*.test.ts",
  ).scan(ROOT)) {
    if (path.includes("/node_modules/")) continue;
    const text = await Bun.file(join(ROOT, path)).text();
    const syntax = ts.createSourceFile(path, text, ts.ScriptTarget.Latest);
    visitNodes(syntax, (node) => {
      if (!ts.isBlock(node)) return;
      for (const [i, statement] of node.statements.entries()) {
        const next = node.statements[i + 1]?.getText(syntax) ?? "";
        const isCommented =
          ts.getLeadingCommentRanges(text, statement.getFullStart()) !== undefined;
        if (!PAUSE.test(statement.getText(syntax)) || !EXPECTS.test(next) || isCommented) continue;
        const { line } = syntax.getLineAndCharacterOfPosition(statement.getStart(syntax));
        found.push(`${path}:${line + 1}`);
      }
    });
  }
  return found;
}

/** A pause in milliseconds; up to one only lets other work run. */
const PAUSE = /^await Bun\.sleep\((?![01]\))/;

const EXPECTS = /^(?:await )?expect\(/;

describe("the architecture", () => {
  test("every folder has code, so that the rules below apply to something", () => {
    for (const folder of Object.keys(MAY_IMPORT)) {
      expect(sources.some((source) => source.folder === folder)).toBe(true);
    }
  });

  test("processes import only themselves and what they share", () => {
    const rest = sources.filter(({ path }) => path !== EXECUTABLE);
    const broken = findTargets(
      rest,
      (target, { folder, path }) =>
        !MAY_IMPORT[folder]?.includes(target.split("/")[0] ?? "") &&
        !LOCAL_STACK_IMPORTS[path]?.includes(target),
    );
    expect(broken).toEqual([]);
  });

  test("the executable imports only main modules, each when it is called", () => {
    const executable = sources.find(({ path }) => path === EXECUTABLE);
    expect(executable).toBeDefined();
    if (executable === undefined) return;
    expect(targetsOf(executable).filter((target) => !target.endsWith("/main.ts"))).toEqual([]);
    expect(executable.text).not.toMatch(/^import .*main\.ts/m);
  });

  test("the client that others install depends on nothing", () => {
    const broken = sources
      .filter(({ path }) => path.startsWith("clients/typescript/src/"))
      .flatMap(({ path, imports }) =>
        imports
          .filter((specifier) => !/^\.\/\w+\.ts$/.test(specifier))
          .map((specifier) => `${path} -> ${specifier}`),
      );
    expect(broken).toEqual([]);
  });

  test("packages stay where they belong", () => {
    const broken = sources.flatMap((source) =>
      source.imports
        .filter(
          (specifier) =>
            STORE_MODULES[source.path] !== specifier &&
            FORBIDDEN_PACKAGES[source.folder]?.includes(specifier),
        )
        .map((specifier) => `${source.path} -> ${specifier}`),
    );
    expect(broken).toEqual([]);
    const indirect = findTargets(sources, (target, { folder }) => {
      const store = STORE_MODULES[target];
      return store !== undefined && FORBIDDEN_PACKAGES[folder]?.includes(store) === true;
    });
    expect(indirect).toEqual([]);
  });

  test("only one module replies to requests over NATS", () => {
    const replying = sources.filter(
      ({ imports, text }) => imports.includes("nats") && /\.respond\(|\.reply\b/.test(text),
    );
    expect(replying.map(({ path }) => path)).toEqual([REPLIES]);
  });

  test("services do not know routes, and nothing uses another resource's SQL", () => {
    const broken = findTargets(
      sqlSources,
      (target, { path }) =>
        (target.endsWith("/routes.ts") && !COMBINES_ROUTES.test(path)) ||
        (IS_SQL.test(target) && dirname(target) !== dirname(path) && !BINDS_SQL.test(path)),
    );
    expect(broken).toEqual([]);
    expect(sqlSources.filter(reexportsSql).map(({ path }) => path)).toEqual([]);
  });

  test("the HTTP layer of the API imports neither a resource nor a store", () => {
    const http = apiSources.filter(({ path }) => path.startsWith("api/http/"));
    expect(findTargets(http, (target) => /^api\/(?!http\/)/.test(target))).toEqual([]);
  });

  test("no files or folders within any folder import each other, not even types", () => {
    const folders = allFolders();
    expect(folders).toContain("api/links/listing");
    expect(folders).toContain("test/harness");
    expect(["", ...folders].flatMap((folder) => findCycles(importGraph(folder)))).toEqual([]);
  });

  test("a folder of the redirector imports only the folders that it may, and none that imports it", () => {
    const graph = importGraph("redirector");
    const folders = [...graph].filter(([module]) => !module.endsWith(".ts"));
    expect(folders.map(([folder]) => folder).toSorted(compareText)).toEqual(
      Object.keys(REDIRECTOR_MAY_IMPORT)
        .map((folder) => `redirector/${folder}`)
        .toSorted(compareText),
    );
    const broken = folders.flatMap(([folder, targets]) =>
      [...targets]
        .filter((target) => target !== "redirector/config.ts")
        .filter((target) => !REDIRECTOR_MAY_IMPORT[basename(folder)]?.includes(basename(target)))
        .map((target) => `${folder} -> ${target}`),
    );
    expect(broken).toEqual([]);
  });

  test("queries of PostgreSQL have bound parameters, and routes and schemas have no queries", () => {
    const unbound = sqlSources.flatMap((source) =>
      RUNS_TEXTS.test(source.path) ? [] : findQueries(source, isUnboundQuery),
    );
    expect(unbound).toEqual([]);
    const http = sqlSources.filter(({ path }) => IS_HTTP.test(path));
    expect(http.flatMap((source) => findQueries(source, isBoundQuery))).toEqual([]);
    // The rule recognizes the queries where they are.
    const querying = apiSources.filter((source) => findQueries(source, isBoundQuery).length > 0);
    expect(querying.length).toBeGreaterThan(5);
  });

  test("comments are at most 100 characters wide, like the code", () => {
    const wide = allSources
      .filter(({ path }) => path !== GENERATED)
      .flatMap(({ path, text }) =>
        text
          .split("\n")
          .flatMap((line, index) => (isWideComment(line) ? `${path}:${index + 1}` : [])),
      );
    expect(wide).toEqual([]);
  });

  test("a file's header stands above its imports", () => {
    expect(sources.filter(hasDisplacedHeader).map(({ path }) => path)).toEqual([]);
  });

  test("within the API, only routes, plugins and apps import Elysia", () => {
    const broken = apiSources
      .filter(({ imports }) => imports.includes("elysia"))
      .map(({ path }) => path)
      .filter((path) => !/[/-]routes\.ts$|plugin\.ts$|\/(?:app|site)\.ts$/.test(path));
    expect(broken).toEqual([]);
  });

  test("only the start of a process reads the environment", () => {
    const broken = sources
      .filter(({ text }) => /\b(process|Bun)\.env\b/.test(text))
      .map(({ path }) => path)
      .filter((path) => !READS_ENVIRONMENT.test(path));
    expect(broken).toEqual([]);
  });

  test("a queue is named in the table of budgets, with who takes turns in it", () => {
    expect(filesWith(/\.shift\(\)|\bnew FairQueue\(/, "shared/fair-queue.ts")).toEqual(
      Object.keys(QUEUES).toSorted(compareText),
    );
  });

  test("work that begins by itself is named in the table of budgets, with who pays for it", () => {
    expect(
      filesWith(/(?<![.\w])repeat(?:Every)?\((?!work\b)|\bsetInterval\(/, "shared/repeat.ts"),
    ).toEqual(Object.keys(JOBS).toSorted(compareText));
  });

  test("state is a class and a step a function: no factories, parameter types or picked types are added", () => {
    const product = countPatterns();
    const patterns = Object.keys(CEILINGS) as Pattern[];
    expect(patterns.filter((pattern) => product[pattern] > CEILINGS[pattern])).toEqual([]);
    // The patterns recognize what there is; of some there is nothing left.
    expect(patterns.some((pattern) => product[pattern] > 0)).toBe(true);
  });

  test("a test pauses before an expectation only to show that something does not happen", async () => {
    expect(await findPauses()).toEqual([]);
  });
});
