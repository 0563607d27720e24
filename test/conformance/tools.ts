/**
 * The third-party tools: installed from the package registry into a temporary folder, so that
 * nobody else needs them.
 */
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import * as z from "zod";

/** Exact versions, so that a run can be repeated. */
const TOOLS = {
  "@stoplight/spectral-cli": "6.16.3",
  "@stoplight/spectral-owasp-ruleset": "2.0.1",
  "@apidevtools/swagger-parser": "13.1.0",
  "@hey-api/openapi-ts": "0.99.0",
  "swagger-typescript-api": "13.13.0",
  "@arethetypeswrong/cli": "0.18.5",
  publint: "0.3.25",
  typescript: "5.9.3",
  deno: "2.9.6",
};

/** One thing that a tool has to say: its rule, where, and what. */
export type Finding = { tool: string; rule: string; place: string; message: string };

type Output = { exitCode: number; stdout: string; stderr: string };

/** Runs a program of the tools in their folder. */
export type RunTool = (name: string, args: string[], env?: Record<string, string>) => Output;

/** Installs the tools in `dir`; returns the function that runs them. Throws when npm fails. */
export function installTools(dir: string): RunTool {
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, "package.json"), JSON.stringify({ private: true, dependencies: TOOLS }));
  // Deno's own installation step only links its program, which is found without it.
  const args = ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  const { exitCode, stderr } = Bun.spawnSync(["npm", ...args], { cwd: dir });
  if (exitCode !== 0) throw new Error(`npm install failed: ${stderr.toString()}`);
  return (name, toolArgs, env = {}) => {
    const result = Bun.spawnSync([join(dir, "node_modules/.bin", name), ...toolArgs], {
      cwd: dir,
      env: { ...process.env, FORCE_COLOR: "0", NO_COLOR: "1", ...env },
    });
    return {
      exitCode: result.exitCode,
      stdout: result.stdout.toString(),
      stderr: result.stderr.toString(),
    };
  };
}

/** The finding of a tool that fails as a whole; none when it succeeds. */
export const failureOf = (
  tool: string,
  { exitCode, stdout, stderr }: Output,
  place = "",
): Finding[] =>
  exitCode === 0
    ? []
    : [{ tool, rule: "failed", place, message: `${stdout}${stderr}`.trim().slice(0, 2_000) }];

/**
 * Checks of the OpenAPI document: linters, a validator, and two client generators under a strict
 * compiler.
 */
const results = z.array(
  z.object({
    code: z.string(),
    message: z.string(),
    path: z.array(z.union([z.string(), z.number()])),
  }),
);

/**
 * Spectral with its rules for OpenAPI, and those of OWASP's API Security Top 10. One of the latter
 * is replaced: it fails as a whole on any object with a name and a list called `in`, as an example
 * of our rules has, and looks for the parameter's name within the name, where there is none.
 */
export function lint(dir: string, run: RunTool): Finding[] {
  cpSync(join(import.meta.dir, "spectral.json"), join(dir, ".spectral.json"));
  const args = ["lint", "openapi.json", "--ruleset", ".spectral.json", "--format", "json"];
  const { stdout, stderr } = run("spectral", [...args, "--quiet", "--output", "spectral.json"]);
  const text = Bun.spawnSync(["cat", "spectral.json"], { cwd: dir }).stdout.toString();
  if (text === "") throw new Error(`Spectral has no result: ${stdout}${stderr}`);
  return results.parse(JSON.parse(text)).map(({ code, message, path }) => ({
    tool: "spectral",
    rule: code,
    place: path.join("."),
    message,
  }));
}

/** Validates against the specification, and resolves every reference. */
export function validate(dir: string): Finding[] {
  const program = `import parser from "@apidevtools/swagger-parser";
    await parser.validate("openapi.json");`;
  writeFileSync(join(dir, "validate.mjs"), program);
  const { exitCode, stdout, stderr } = Bun.spawnSync(["node", "validate.mjs"], { cwd: dir });
  const output = { exitCode, stdout: stdout.toString(), stderr: stderr.toString() };
  return failureOf("swagger-parser", output, "openapi.json");
}

const GENERATORS: Record<string, { command: string; args: string[]; entry: string }> = {
  "@hey-api/openapi-ts": {
    command: "openapi-ts",
    args: ["--input", "openapi.json", "--output", "hey-api"],
    entry: "hey-api/index.ts",
  },
  "swagger-typescript-api": {
    command: "swagger-typescript-api",
    args: ["generate", "--path", "openapi.json", "--output", "sta", "--name", "api.ts", "--silent"],
    entry: "sta/api.ts",
  },
};

/** Generates clients, and compiles them with strict types. */
export function generateClients(dir: string, run: RunTool): Finding[] {
  return Object.entries(GENERATORS).flatMap(([tool, { command, args, entry }]) => {
    mkdirSync(join(dir, entry, ".."), { recursive: true });
    const generated = failureOf(tool, run(command, args), "openapi.json");
    const options = ["--strict", "--noEmit", "--target", "ES2022", "--module", "Preserve"];
    const compiled = run("tsc", [
      ...options,
      "--skipLibCheck",
      "--lib",
      "ES2023,DOM,DOM.Iterable",
      entry,
    ]);
    return [...generated, ...failureOf(tool, compiled, entry)];
  });
}
