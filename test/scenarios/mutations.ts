/**
 * `--without PROTECTION`: runs the scenario of a protection in a copy of the project that lacks it,
 * and passes if the scenario then fails for the expected reason.
 */
import { existsSync, readFileSync } from "node:fs";

import { TEST_TIMEOUT_MS } from "../harness/eventually.ts";
import { withMutation } from "../harness/mutations.ts";
import type { Scenario } from "../runner/scenarios.ts";
import type { Result } from "./parts.ts";
import { type Protection, PROTECTIONS } from "./protections.ts";
import { resultPath } from "./scenario.ts";
import { SCENARIOS } from "./scenarios.ts";

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
  const { scenario: wanted, problem } = protection;
  const scenario = SCENARIOS.find((one) => one.name === wanted);
  if (scenario === undefined) throw new Error(`There is no scenario "${wanted}".`);
  const problems = await withMutation(protection, (copy) =>
    scenario.files.length > 0
      ? runTests(copy, scenario, protection)
      : runFaults(copy, protection, args),
  );
  const isExpected = problems?.some((text) => !AT_START.test(text) && problem.test(text)) ?? false;
  console.log(`Without ${name}, ${wanted} ${describe(problems, isExpected)}`);
  return isExpected;
}

/** Injects faults in a copy; returns the problems, undefined when it could not run. */
async function runFaults(
  copy: string,
  { scenario, faults, problem }: Protection,
  args: readonly string[],
): Promise<string[] | undefined> {
  const chosen = faults?.flatMap((fault) => ["--fault", fault]) ?? [];
  const rounds = faults === undefined ? [] : ["--rounds", String(ROUNDS)];
  const options = [...args, ...chosen, ...rounds, "--expect", problem.source];
  const program = ["test/scenarios/run.ts", scenario, ...options];
  const child = Bun.spawn([process.execPath, ...program], {
    cwd: copy,
    stdio: ["ignore", "inherit", "inherit"],
  });
  await child.exited;
  return readResult(resultPath(scenario, copy))?.problems;
}

/** Runs tests in a copy; returns the errors that they printed, undefined when none could run. */
async function runTests(
  copy: string,
  { files, env = {} }: Scenario,
  { tests }: Protection,
): Promise<string[] | undefined> {
  const named = tests === undefined ? [] : [`--test-name-pattern=${tests}`];
  const options = [`--timeout=${TEST_TIMEOUT_MS}`, ...named];
  const paths = files.map((file) => `./${file}`);
  const child = Bun.spawn([process.execPath, "test", ...options, ...paths], {
    cwd: copy,
    env: { ...process.env, ...env },
    stdio: ["ignore", "inherit", "pipe"],
  });
  const output = await new Response(child.stderr).text();
  console.error(output);
  if ((await child.exited) === 0) return HAS_RUN.test(output) ? [] : undefined;
  return [...output.matchAll(/^error: (.*)$/gm)].map(([, message = ""]) => message);
}

/** In the last lines of `bun test`, which also passes when it has left out all tests. */
const HAS_RUN = /^ *[1-9]\d* pass$/m;

function readResult(path: string): Result | undefined {
  return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : undefined;
}

function describe(problems: readonly string[] | undefined, isExpected: boolean): string {
  if (problems === undefined) return "could not run, which shows nothing.";
  if (isExpected) return "fails, as expected.";
  if (problems.length === 0) return "is as promised: it does not cover the protection.";
  return `fails, but for another reason: ${problems.join("; ")}`;
}
