/**
 * The third-party tools: installed from the package registry into a temporary folder, so that
 * nobody else needs them.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

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
