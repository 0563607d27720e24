/** Runs a scenario: its faults one after the other, then all of its checks. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import { eventually } from "../harness/eventually.ts";
import { createRandom, shuffle } from "../harness/random.ts";
import { PROJECT_DIR } from "../harness/stack.ts";
import { keepEvidence } from "./checks/evidence.ts";
import type { Fault, Load, Parts, Result, Row, Run, RunSettings } from "./parts.ts";
import type { Topology } from "./topologies/topology.ts";

/** Time until everything runs after a fault. */
const RECOVERY_MS = 60_000;

/** How long processes may take to end after their supervisor. */
const ENDED_MS = 2_000;

/** Time between two faults. */
const PAUSE_MS = { min: 200, max: 1_500 };

/** A row of any parts, as the runner knows it. */
export type AnyScenario = Row & {
  readonly faultNames: readonly string[];
  run(settings: RunSettings): Promise<Result>;
};

/** The scenario that is made of these parts. */
export const faultScenario = <T extends Topology, L extends Load>(
  parts: Parts<T, L>,
): AnyScenario => ({
  ...parts,
  faultNames: parts.faults.map(({ name }) => name),
  run: (settings) => new ScenarioRun(parts, settings).run(),
});

class ScenarioRun<T extends Topology, L extends Load> {
  readonly #parts: Parts<T, L>;
  readonly #settings: RunSettings;
  readonly #result: Result;

  constructor(parts: Parts<T, L>, settings: RunSettings) {
    this.#parts = parts;
    this.#settings = settings;
    this.#result = { name: parts.name, seed: settings.seed, problems: [], notes: [] };
  }

  /** Runs it; every check, also when another one or a fault has failed. */
  async run(): Promise<Result> {
    const [parts, settings, result] = [this.#parts, this.#settings, this.#result];
    const topology = await parts.topology(settings);
    try {
      await using load = await parts.load(topology, settings);
      const run: Run<T, L> = { topology, load, random: createRandom(settings.seed), settings };
      await this.#injectAll(run);
      await this.#attempt("the load", () => load.stop());
      const isShown = (): boolean =>
        result.problems.some((text) => settings.expected?.test(text) === true);
      for (const { name, verify } of parts.checks)
        if (!isShown()) await this.#attempt(name, () => verify(run));
      if (result.problems.length > 0) result.evidence = await keepEvidence(topology, parts.name);
    } finally {
      await topology[Symbol.asyncDispose]();
    }
    await this.#attempt("nothing left running", () => expectNothingLeft(topology));
    return result;
  }

  /** Notes what work measured, or its problem. */
  async #attempt(name: string, work: () => Promise<string | void>): Promise<void> {
    const { problems, notes } = this.#result;
    const { log } = this.#settings;
    try {
      const note = await work();
      if (typeof note !== "string") return;
      notes.push(note);
      log(`${name}: ${note}`);
    } catch (error) {
      problems.push(`${name}: ${messagesOf(error).join(": ")}`);
      log(`FAILED ${problems.at(-1)}`);
    }
  }

  /** Injects each fault once, in random order, then again, until there are enough or one failed. */
  async #injectAll(run: Run<T, L>): Promise<void> {
    const { random, settings, topology, load } = run;
    const { inOrder = false, sentMin = 0, roundsLong = 0 } = this.#parts;
    const chosen = this.#choose(settings);
    const rounds = settings.rounds ?? (settings.long ? roundsLong : 0);
    const isEnough = (done: number): boolean =>
      done >= Math.max(rounds, chosen.length) && (!settings.long || load.sent >= sentMin);
    let queue: Fault<T, L>[] = [];
    for (let done = 0; !isEnough(done) && this.#result.problems.length === 0; done++) {
      if (queue.length === 0) queue = inOrder ? [...chosen] : shuffle(random, chosen);
      const fault = queue.shift();
      if (fault === undefined) return;
      settings.log(`${done + 1}. ${fault.name}`);
      await this.#attempt(fault.name, async () => {
        // What it needs may still be recovering from the one before.
        await eventually(() => topology.expectRunning(), RECOVERY_MS);
        await load.during(fault.name, async () => void (await fault.inject(run)));
      });
      await Bun.sleep(random.between(PAUSE_MS.min, PAUSE_MS.max));
    }
  }

  /** Those that are named; else all, or in the short form those that a change does not add. */
  #choose({ faults: names, long, rounds, changed }: RunSettings): readonly Fault<T, L>[] {
    const { faults } = this.#parts;
    if (names !== undefined) {
      const named = faults.filter(({ name }) => names.some((part) => name.includes(part)));
      if (named.length === 0) throw new Error(`There is no such fault: ${names.join(", ")}.`);
      return named;
    }
    if (long || rounds !== undefined) return faults;
    return faults.filter((fault) => fault.isOnlyForChanges !== true || isTouched(fault, changed));
  }
}

async function expectNothingLeft(topology: Topology): Promise<void> {
  await eventually(async () => {
    const left = topology.findLeftovers();
    if (left.length > 0) throw new Error(left.join("; "));
  }, ENDED_MS);
}

const isIn = (path: string, place: string): boolean =>
  place.endsWith("/") ? path.startsWith(place) : path === place;

/** Whether a change of these files can touch a fault; paths begin at the project's folder. */
export function isTouched(
  { exercises = [] }: { exercises?: readonly string[] },
  changed: readonly string[],
): boolean {
  return [...exercises, OF_SCENARIOS].some((place) => changed.some((path) => isIn(path, place)));
}

/** A change of the faults themselves touches each. */
const OF_SCENARIOS = "test/scenarios/faults/";

/** An error's message and those of its causes. */
const messagesOf = (error: unknown): string[] =>
  error instanceof Error
    ? [error.message, ...(error.cause === undefined ? [] : messagesOf(error.cause))]
    : [String(error)];

/** The file with the last result of a scenario, in a folder of the project. */
export const resultPath = (name: string, root = PROJECT_DIR): string =>
  join(root, "test/results/scenarios", `${name.replaceAll(/\W+/g, "-")}.json`);

export function writeResult(result: Result): void {
  const path = resultPath(result.name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, JSON.stringify(result, undefined, 1));
}
