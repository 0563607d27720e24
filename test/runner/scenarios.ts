/** Selects scenarios, and runs them. */
import { closeSync, mkdirSync, openSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";

import { findFiles, runProcess } from "./lanes.ts";
import { sum } from "./timing.ts";

/** A test that takes too long for `npm test`: it runs for the changes that it can see. */
export type Scenario = {
  name: string;
  /** Files of tests, each in a process of its own, one after the other. */
  files: readonly string[];
  /** The program that runs it, with its arguments, if it is not made of files of tests. */
  program?: readonly string[];
  env?: Readonly<Record<string, string>>;
  /** How long it took, on a quiet machine. */
  seconds: number;
  /**
   * Of those that a change selects, it runs after the others, and never beside another such one:
   * they build a release in the same folder, or measure.
   */
  isLast?: boolean;
  /** Globs of what, when it changes, can break what this proves; its own files are among them. */
  paths: readonly string[];
  proves: string;
};

/** `untested`: nothing failed, but a part of it, or all, cannot be run on this machine. */
export type ScenarioOutcome = { scenario: Scenario; result: "passed" | "untested" | "failed" };

const ROOT = join(import.meta.dir, "../..");

/** The files of tests in folders that have a long form. */
export const findLongForms = (folders: readonly string[]): string[] =>
  findFiles(folders, []).filter((path) =>
    readFileSync(join(ROOT, path), "utf8").includes("harness/property-runs.ts"),
  );

/** What each printed. */
const LOGS = join(import.meta.dir, "../results/scenarios");

/** Paths of `paths` that a scenario speaks of. */
export const matching = (scenario: Scenario, paths: readonly string[]): string[] => {
  const globs = scenario.paths.map((pattern) => new Bun.Glob(pattern));
  return paths.filter(
    (path) => scenario.files.includes(path) || globs.some((glob) => glob.match(path)),
  );
};

/**
 * The scenarios that a change selects. First those that speak of the fewest files of all that are
 * tracked, as they say most about these; of equals, the shorter one. Those that are last, last.
 */
export function selectAffected(
  scenarios: readonly Scenario[],
  changed: readonly string[],
  tracked: readonly string[],
): Scenario[] {
  return scenarios
    .filter((scenario) => matching(scenario, changed).length > 0)
    .map((scenario) => ({ scenario, breadth: matching(scenario, tracked).length }))
    .toSorted(
      (a, b) =>
        Number(a.scenario.isLast ?? false) - Number(b.scenario.isLast ?? false) ||
        a.breadth - b.breadth ||
        a.scenario.seconds - b.scenario.seconds,
    )
    .map(({ scenario }) => scenario);
}

/**
 * Runs scenarios, so many at a time, and prints a line for each that has ended. One that would by
 * its recorded time not end within `limitSeconds` from the start is not run, and one that fails is
 * not run again. Programs of scenarios get the arguments.
 */
export async function runScenarios(
  scenarios: readonly Scenario[],
  atOnce: number,
  limitSeconds: number,
  args: readonly string[] = [],
): Promise<{ outcomes: ScenarioOutcome[]; notRun: Scenario[] }> {
  rmSync(LOGS, { recursive: true, force: true });
  mkdirSync(LOGS, { recursive: true });
  const startedAt = performance.now();
  const queue = [...scenarios];
  const outcomes: ScenarioOutcome[] = [];
  const running = new Set<Scenario>();

  function takeFitting(): Scenario | undefined {
    const left = limitSeconds - (performance.now() - startedAt) / 1_000;
    const hasLast = [...running].some(({ isLast = false }) => isLast);
    const place = queue.findIndex(
      ({ seconds, isLast = false }) => seconds <= left && !(isLast && hasLast),
    );
    return place < 0 ? undefined : queue.splice(place, 1)[0];
  }

  async function runLane(): Promise<void> {
    for (let next = takeFitting(); next !== undefined; next = takeFitting()) {
      running.add(next);
      outcomes.push(await runScenario(next, args));
      running.delete(next);
    }
  }

  await Promise.all(Array.from({ length: atOnce }, runLane));
  return { outcomes, notRun: queue };
}

async function runScenario(scenario: Scenario, args: readonly string[]): Promise<ScenarioOutcome> {
  const runs = scenario.program === undefined ? [] : [await runProgram(scenario, args)];
  for (const file of scenario.files) {
    const log = join(LOGS, `${scenario.name}-${file.replaceAll("/", "-")}.log`);
    const { outcome, output } = await runProcess([file], scenario.env ?? {}, log);
    const failures = outcome.failures.map(({ test, message }) => `${test}: ${message}`);
    runs.push({ log, output, failures, ...times(outcome.seconds, outcome.cpuSeconds) });
  }
  const seconds = Math.round(sum(runs.map((run) => run.seconds)));
  const cpu = Math.round(sum(runs.map((run) => run.cpuSeconds)));
  const failed = runs.filter(({ failures }) => failures.length > 0);
  const took = `${seconds} s, ${cpu} s of CPU, recorded ${scenario.seconds} s`;
  const skipped = runs.flatMap(({ output }) => output.match(/^!!! .* NOT TESTED.*$/gm) ?? []);
  const seeds = runs.flatMap(({ output }) => output.match(/--seed \d+$|SEED=\d+$/m) ?? []);
  const line = [`${scenario.name} (${took})`, ...seeds].join(" ");
  const result = failed.length > 0 ? "failed" : skipped.length > 0 ? "untested" : "passed";
  const word = { passed: "pass", untested: "NOT TESTED HERE", failed: "FAIL" }[result];
  console.log(`${word} ${line}: ${scenario.proves}`);
  for (const text of skipped) console.log(`  ${text}`);
  for (const { log, output, failures } of failed) {
    console.log(output);
    for (const failure of failures) console.log(`  ${failure}`);
    console.log(`  all of it: ${log}`);
  }
  return { scenario, result };
}

type ScenarioRun = {
  log: string;
  output: string;
  failures: string[];
  seconds: number;
  cpuSeconds: number;
};

const times = (seconds: number, cpuSeconds: number) => ({ seconds, cpuSeconds });

/** Runs a scenario's program, with further arguments. */
async function runProgram(
  { name, program = [], env = {} }: Scenario,
  args: readonly string[],
): Promise<ScenarioRun> {
  const log = join(LOGS, `${name.replaceAll(/\W+/g, "-")}.log`);
  const startedAt = performance.now();
  const fd = openSync(log, "w");
  const child = Bun.spawn([process.execPath, ...program, ...args], {
    cwd: ROOT,
    env: { ...process.env, ...env },
    stdio: ["ignore", fd, fd],
  });
  const code = await child.exited;
  closeSync(fd);
  const output = readFileSync(log, "utf8");
  const problems = output.match(/^FAILED .*$/gm) ?? [];
  return {
    log,
    output,
    failures: code === 0 ? [] : [...new Set([...problems, `exit code ${code}`])],
    seconds: (performance.now() - startedAt) / 1_000,
    cpuSeconds: Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1_000_000,
  };
}
