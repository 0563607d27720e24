/** Selects scenarios, and runs them. */
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";

import { findFiles, runProcess } from "./lanes.ts";
import { sum } from "./timing.ts";

/** A test that takes too long for `npm test`: it runs for the changes that it can see. */
export type Scenario = {
  name: string;
  /** Each in a process of its own, one after the other. */
  files: readonly string[];
  env?: Readonly<Record<string, string>>;
  /** How long it took, on a quiet machine. */
  seconds: number;
  /** Globs of what, when it changes, can break what this proves; its own files are among them. */
  paths: readonly string[];
  proves: string;
};

export type ScenarioOutcome = { scenario: Scenario; passed: boolean };

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
 * tracked, as they say most about these; of equals, the shorter one.
 */
export function selectAffected(
  scenarios: readonly Scenario[],
  changed: readonly string[],
  tracked: readonly string[],
): Scenario[] {
  return scenarios
    .filter((scenario) => matching(scenario, changed).length > 0)
    .map((scenario) => ({ scenario, breadth: matching(scenario, tracked).length }))
    .toSorted((a, b) => a.breadth - b.breadth || a.scenario.seconds - b.scenario.seconds)
    .map(({ scenario }) => scenario);
}

/**
 * Runs scenarios, so many at a time, and prints a line for each that has ended. One that would by
 * its recorded time not end within `limitSeconds` from the start is not run, and one that fails is
 * not run again.
 */
export async function runScenarios(
  scenarios: readonly Scenario[],
  atOnce: number,
  limitSeconds: number,
): Promise<{ outcomes: ScenarioOutcome[]; notRun: Scenario[] }> {
  rmSync(LOGS, { recursive: true, force: true });
  mkdirSync(LOGS, { recursive: true });
  const startedAt = performance.now();
  const queue = [...scenarios];
  const outcomes: ScenarioOutcome[] = [];

  function takeFitting(): Scenario | undefined {
    const left = limitSeconds - (performance.now() - startedAt) / 1_000;
    const place = queue.findIndex(({ seconds }) => seconds <= left);
    return place < 0 ? undefined : queue.splice(place, 1)[0];
  }

  async function runLane(): Promise<void> {
    for (let next = takeFitting(); next !== undefined; next = takeFitting())
      outcomes.push(await runScenario(next));
  }

  await Promise.all(Array.from({ length: atOnce }, runLane));
  return { outcomes, notRun: queue };
}

async function runScenario(scenario: Scenario): Promise<ScenarioOutcome> {
  const { name, files, env = {}, proves } = scenario;
  const runs = [];
  for (const file of files) {
    const log = join(LOGS, `${name}-${file.replaceAll("/", "-")}.log`);
    runs.push({ file, log, ...(await runProcess([file], env, log)) });
  }
  const seconds = Math.round(sum(runs.map(({ outcome }) => outcome.seconds)));
  const cpu = Math.round(sum(runs.map(({ outcome }) => outcome.cpuSeconds)));
  const failed = runs.filter(({ outcome }) => outcome.failures.length > 0);
  const times = `${seconds} s, ${cpu} s of CPU, recorded ${scenario.seconds} s`;
  console.log(`${failed.length === 0 ? "pass" : "FAIL"} ${name} (${times}): ${proves}`);
  for (const { log, output, outcome } of failed) {
    console.log(output);
    for (const { test, message } of outcome.failures) console.log(`  ${test}: ${message}`);
    console.log(`  all of it: ${log}`);
  }
  return { scenario, passed: failed.length === 0 };
}
