/**
 * Checks of the OpenAPI document: linters, a validator, and two client generators under a strict
 * compiler.
 */
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import * as z from "zod";

import { failureOf, type Finding, type RunTool } from "./tools.ts";

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
