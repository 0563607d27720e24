/**
 * `--without PROTECTION`: runs the scenario of a protection in a copy of the project that lacks it,
 * and passes if the scenario then fails for the expected reason.
 */
import { existsSync, readFileSync } from "node:fs";

import { withMutation } from "../harness/mutations.ts";
import type { Result } from "./parts.ts";
import { PROTECTIONS } from "./protections.ts";
import { resultPath } from "./scenario.ts";

/** A problem of a scenario whose topology did not start, so that it has shown nothing. */
const AT_START = /^start: /;

/** How often the faults of a protection are injected. */
const ROUNDS = 2;

/**
 * Runs the scenario of a protection without it, or of `all` one after the other, with arguments for
 * each. Returns whether each failed for the expected reason.
 */
export async function runWithout(name: string, args: readonly string[]): Promise<boolean> {
  const names = name === "all" ? Object.keys(PROTECTIONS) : [name];
  const unproved: string[] = [];
  for (const one of names) if (!(await isNeeded(one, args))) unproved.push(one);
  if (unproved.length > 0) console.error(`Not proved: ${unproved.join(", ")}`);
  return unproved.length === 0;
}

async function isNeeded(name: string, args: readonly string[]): Promise<boolean> {
  const protection = PROTECTIONS[name];
  if (protection === undefined)
    throw new Error(`There is no protection "${name}": ${Object.keys(PROTECTIONS).join(", ")}.`);
  const { scenario, faults, problem } = protection;
  const result = await withMutation(protection, async (copy) => {
    const chosen = faults?.flatMap((fault) => ["--fault", fault]) ?? [];
    const rounds = faults === undefined ? [] : ["--rounds", String(ROUNDS)];
    const options = [...args, ...chosen, ...rounds, "--expect", problem.source];
    const program = ["test/scenarios/run.ts", scenario, ...options];
    const child = Bun.spawn([process.execPath, ...program], {
      cwd: copy,
      stdio: ["ignore", "inherit", "inherit"],
    });
    await child.exited;
    return readResult(resultPath(scenario, copy));
  });
  const problems = result?.problems.filter((text) => !AT_START.test(text)) ?? [];
  const isExpected = problems.some((text) => problem.test(text));
  console.log(`Without ${name}, ${scenario} ${describe(result, isExpected)}`);
  return isExpected;
}

function readResult(path: string): Result | undefined {
  return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : undefined;
}

function describe(result: Result | undefined, isExpected: boolean): string {
  if (result === undefined) return "could not run, which shows nothing.";
  if (isExpected) return "fails, as expected.";
  if (result.problems.length === 0) return "is as promised: it does not cover the protection.";
  return `fails, but for another reason: ${result.problems.join("; ")}`;
}
