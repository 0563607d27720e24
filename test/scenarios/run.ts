/**
 * Runs one scenario of faults in this process, as `main.ts` starts it: `bun test/scenarios/run.ts
 * NAME [options]`. Prints what it does, its seed and what it found; exits with 1 when anything is
 * not as promised.
 */
import { parseArgs } from "node:util";

import { isDrill, writePage } from "./drills-page.ts";
import { FAULT_SCENARIOS } from "./fault-scenarios.ts";
import type { RunSettings } from "./parts.ts";
import { type AnyScenario, resultPath, writeResult } from "./scenario.ts";

/** A seed is short enough to be typed. */
const SEEDS = 1_000_000;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: "string", default: String(Date.now() % SEEDS) },
    long: { type: "boolean", default: false },
    rounds: { type: "string" },
    fault: { type: "string", multiple: true },
    only: { type: "string" },
    later: { type: "boolean", default: false },
    expect: { type: "string" },
  },
});

const scenario = FAULT_SCENARIOS.find(({ name }) => name === positionals[0]);
if (scenario === undefined) throw new Error(`There is no scenario "${positionals[0]}".`);
const settings: RunSettings = {
  seed: Number(values.seed),
  long: values.long,
  rounds: values.rounds === undefined ? undefined : Number(values.rounds),
  faults: values.fault,
  only: values.only?.split(",").map(Number),
  later: values.later,
  changed: (process.env["SHORTHOP_TEST_CHANGED"] ?? "").split("\n"),
  expected: values.expect === undefined ? undefined : new RegExp(values.expect),
  log: console.log,
};
const lacks = scenario.lacks?.();
if (lacks === undefined) process.exit((await runOne(scenario)) ? 0 : 1);
console.log(`!!! ${scenario.name} is NOT TESTED: ${lacks}`);
process.exit(0);

/** Runs it, and returns whether all is as promised. */
async function runOne(one: AnyScenario): Promise<boolean> {
  console.log(`${one.name} --seed ${settings.seed}`);
  const result = await one.run(settings).catch((error: unknown) => {
    console.error(error);
    return {
      name: one.name,
      seed: settings.seed,
      problems: [`start: ${String(error)}`],
      notes: [],
    };
  });
  writeResult(result);
  if (settings.long && isDrill(one.name)) writePage(result);
  for (const problem of result.problems) console.log(`FAILED ${problem}`);
  if (result.problems.length === 0) return true;
  const again = `bun run test:scenarios ${one.name} --seed ${settings.seed}`;
  console.log(`again: ${again}; result: ${resultPath(one.name)}`);
  if ("evidence" in result) console.log(`evidence: ${result.evidence}`);
  return false;
}
