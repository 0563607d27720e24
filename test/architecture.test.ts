/**
 * Goal: dependencies point one way, so that each process can be read, tested and shipped alone.
 */
import { describe, expect, test } from "bun:test";
import { dirname, join } from "node:path";

const ROOT = join(import.meta.dir, "..");

/** What each folder may import of the others. */
const MAY_IMPORT: Record<string, readonly string[]> = {
  shared: ["shared", "package.json"],
  api: ["api", "shared"],
  redirector: ["redirector", "shared"],
  worker: ["worker", "shared"],
  deploy: ["deploy", "shared"],
  clients: ["clients"],
  // What a page can use: contracts of ours, and the client that anybody has.
  dashboard: ["dashboard", "shared", "clients"],
};

/** Packages that stay out of a folder. */
const FORBIDDEN_PACKAGES: Record<string, readonly string[]> = {
  redirector: ["elysia", "postgres", "@clickhouse/client"],
  worker: ["elysia"],
  shared: ["elysia", "postgres", "@clickhouse/client"],
  dashboard: ["elysia", "postgres", "@clickhouse/client", "nats", "better-auth"],
};

/** Where the environment may be read: at the start of a process. */
const READS_ENVIRONMENT = /\/main\.ts$|^api\/admin\/main\.ts$|^deploy\/|^dashboard\/build\.ts$/;

const SPECIFIER = /^\s*(?:import|export)\b[^;]*?\bfrom\s+["']([^"']+)["']/gm;

type Source = { path: string; folder: string; text: string; imports: string[] };

async function readSources(): Promise<Source[]> {
  const sources: Source[] = [];
  for (const folder of Object.keys(MAY_IMPORT)) {
    for await (const path of new Bun.Glob(`${folder}/**/*.{ts,tsx}`).scan(ROOT)) {
      // Tests may use whatever helps them; nothing imports a test.
      if (/\.test\.tsx?$/.test(path)) continue;
      const text = await Bun.file(join(ROOT, path)).text();
      const imports = [...text.matchAll(SPECIFIER)].flatMap(([, specifier]) => specifier ?? []);
      sources.push({ path, folder, text, imports });
    }
  }
  return sources;
}

const sources = await readSources();

const targetOf = ({ path }: Source, specifier: string): string => join(dirname(path), specifier);

describe("the architecture", () => {
  test("every folder has code, so that the rules below have something to judge", () => {
    for (const folder of Object.keys(MAY_IMPORT)) {
      expect(sources.some((source) => source.folder === folder)).toBe(true);
    }
  });

  test("processes import only themselves and what they share", () => {
    const broken = sources.flatMap((source) =>
      source.imports
        .filter((specifier) => specifier.startsWith("."))
        .map((specifier) => targetOf(source, specifier))
        .filter((target) => !MAY_IMPORT[source.folder]?.includes(target.split("/")[0] ?? ""))
        .map((target) => `${source.path} -> ${target}`),
    );
    expect(broken).toEqual([]);
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
        .filter((specifier) => FORBIDDEN_PACKAGES[source.folder]?.includes(specifier))
        .map((specifier) => `${source.path} -> ${specifier}`),
    );
    expect(broken).toEqual([]);
  });

  test("within the API, services do not know routes, and nothing reads another resource's SQL", () => {
    const broken = sources
      .filter((source) => source.folder === "api")
      .flatMap((source) =>
        source.imports
          .filter((specifier) => specifier.startsWith("."))
          .map((specifier) => targetOf(source, specifier))
          .filter(
            (target) =>
              (target.endsWith("/routes.ts") && !source.path.endsWith("/app.ts")) ||
              (target.endsWith("/sql.ts") && dirname(target) !== dirname(source.path)),
          )
          .map((target) => `${source.path} -> ${target}`),
      );
    expect(broken).toEqual([]);
  });

  test("only Elysia's own edge of the API knows Elysia", () => {
    const broken = sources
      .filter(({ folder, imports }) => folder === "api" && imports.includes("elysia"))
      .map(({ path }) => path)
      .filter((path) => !/\/routes\.ts$|plugin\.ts$|\/app\.ts$|request-context\.ts$/.test(path));
    expect(broken).toEqual([]);
  });

  test("the environment is read at the start of a process alone", () => {
    const broken = sources
      .filter(({ text }) => /\b(process|Bun)\.env\b/.test(text))
      .map(({ path }) => path)
      .filter((path) => !READS_ENVIRONMENT.test(path));
    expect(broken).toEqual([]);
  });
});
