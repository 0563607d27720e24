/**
 * `bun run test:scenarios`: runs the scenarios of `scenarios.ts`.
 *
 * - `NAME …`: those whose names contain a word.
 * - `--all`: all of them, which takes a night.
 * - `--affected [COMMIT]`: those that what differs from the commit (default: the last one) selects.
 * - `--seconds N`: within so many seconds; what does not fit is printed as NOT RUN.
 * - `--list`: prints them, and runs none.
 *
 * Options of scenarios of faults:
 *
 * - `--seed N`: repeats a run; `--fault NAME …`: only these; `--rounds N`: so many, of all.
 * - `--long`: with more links, more faults, for longer; `--later`: with the nats-server of the next
 *   Debian.
 * - `--without PROTECTION`: removes a protection from a copy of the project, and passes if its
 *   scenario then fails; `all` takes one after the other.
 *
 * What follows `--` are further options of `test/scenarios/run.ts`.
 */
import { join } from "node:path";
import { parseArgs } from "node:util";

import { run } from "../../deploy/packages/run.ts";
import { countCores, suitShortLives } from "../runner/cores.ts";
import {
  runScenarios,
  type Scenario,
  type ScenarioOutcome,
  selectAffected,
} from "../runner/scenarios.ts";
import { runWithout } from "./mutations.ts";
import { SCENARIOS } from "./scenarios.ts";

/** For more cores than this, no more at a time: they would share memory and a disk. */
const AT_ONCE_MAX = 2;

const args = process.argv.slice(2);
const end = args.includes("--") ? args.indexOf("--") : args.length;
const { values, positionals } = parseArgs({
  args: args.slice(0, end),
  options: {
    all: { type: "boolean", default: false },
    affected: { type: "boolean", default: false },
    list: { type: "boolean", default: false },
    seconds: { type: "string", default: "Infinity" },
    seed: { type: "string" },
    fault: { type: "string", multiple: true },
    rounds: { type: "string" },
    long: { type: "boolean", default: false },
    later: { type: "boolean", default: false },
    without: { type: "string" },
  },
  allowPositionals: true,
});

/** What scenarios of faults are given. */
const given = [
  ...(values.seed === undefined ? [] : ["--seed", values.seed]),
  ...(values.rounds === undefined ? [] : ["--rounds", values.rounds]),
  ...(values.fault ?? []).flatMap((name) => ["--fault", name]),
  ...(values.long ? ["--long"] : []),
  ...(values.later ? ["--later"] : []),
  ...args.slice(end + 1),
];

if (values.without !== undefined) process.exit((await runWithout(values.without, given)) ? 0 : 1);

const selected = select();
if (values.list) {
  for (const { name, seconds, proves } of selected)
    console.log(`${name} (${seconds} s): ${proves}`);
  process.exit(0);
}
suitShortLives();
const atOnce = Math.min(AT_ONCE_MAX, Math.ceil(countCores()));
const limit = Number(values.seconds);
const { outcomes, notRun } = await runScenarios(selected, atOnce, limit, given);
for (const { name, seconds } of notRun) console.log(`NOT RUN: ${name}, which takes ${seconds} s`);
const failed = namesOf("failed");
const untested = namesOf("untested");
console.log(
  `\n${namesOf("passed").length} scenarios passed, ${failed.length} failed${failed.join()}, ` +
    `${untested.length} not tested on this machine${untested.join()}, ${notRun.length} not run`,
);
process.exit(failed.length === 0 ? 0 : 1);

function namesOf(wanted: ScenarioOutcome["result"]): string[] {
  return outcomes
    .filter(({ result }) => result === wanted)
    .map(({ scenario }) => ` ${scenario.name}`);
}

/** Selects scenarios by the command line; exits if it names none. */
function select(): readonly Scenario[] {
  if (values.affected) return selectChanged(positionals[0] ?? "HEAD");
  const isNamed = positionals.length > 0;
  const exact = SCENARIOS.filter(({ name }) => positionals.includes(name));
  const found = SCENARIOS.filter(({ name }) => positionals.some((word) => name.includes(word)));
  // One that is called exactly so is meant alone, though others contain its name.
  const named = isNamed && exact.length === positionals.length ? exact : found;
  if (named.length > 0) return named;
  if (positionals.length === 0 && (values.all || values.list)) return SCENARIOS;
  console.error("Usage: bun run test:scenarios [NAME …] [--all] [--affected [COMMIT]]");
  console.error("         [--seconds N] [--list] [--without PROTECTION]");
  console.error("         [--seed N] [--fault NAME …] [--rounds N] [--long] [--later]");
  return process.exit(2);
}

/** Runs git; returns the lines that it prints. */
function git(...args: string[]): string[] {
  return run(["git", ...args], join(import.meta.dir, "../..")).split("\n");
}

function selectChanged(commit: string): Scenario[] {
  const differing = git("diff", "--name-only", "--no-renames", commit);
  const unknown = git("ls-files", "--others", "--exclude-standard");
  const changed = [...new Set([...differing, ...unknown])].filter((path) => path !== "");
  const affected = selectAffected(SCENARIOS, changed, git("ls-files"));
  console.log(`${changed.length} files differ from ${commit}; scenarios that can see that:`);
  console.log(affected.map(({ name }) => name).join(" ") || "none");
  // Scenarios of faults inject those that the change can touch as well.
  process.env["SHORTHOP_TEST_CHANGED"] = changed.join("\n");
  return affected;
}
