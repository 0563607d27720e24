/** Runs a scenario: its faults one after the other, then all of its checks. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import { HOUR_MS } from "../../shared/durations.ts";
import { withTimeout } from "../../shared/timeout.ts";
import { eventually, SLOWDOWN_MAX } from "../harness/eventually.ts";
import { createRandom, shuffle } from "../harness/random.ts";
import { PROJECT_DIR } from "../harness/stack.ts";
import { keepEvidence } from "./checks/evidence.ts";
import type { Fault, Load, Parts, Result, Row, Run, RunSettings } from "./parts.ts";
import type { Topology } from "./topologies/topology.ts";

/** Time until everything runs after a fault. */
const RECOVERY_MS = 60_000;

/** The limit of a run's long form, which takes hours: it ends what hangs, before the next night. */
const LONG_MS_MAX = 12 * HOUR_MS;

/** Most time in which a topology ends all its processes. */
const END_MS_MAX = 20_000 * SLOWDOWN_MAX;

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

/**
 * Every wait of a run has an end: each of its steps gets the time that is left of the run's, and
 * what would begin later is left out. Alone, the waits for a system that hangs add up.
 */
class ScenarioRun<T extends Topology, L extends Load> {
  readonly #parts: Parts<T, L>;
  readonly #settings: RunSettings;
  readonly #result: Result;
  #endsAt = Infinity;

  constructor(parts: Parts<T, L>, settings: RunSettings) {
    this.#parts = parts;
    this.#settings = settings;
    this.#result = { name: parts.name, seed: settings.seed, problems: [], notes: [] };
  }

  /** Runs it; every check for which there is time, also when another one or a fault has failed. */
  async run(): Promise<Result> {
    const [parts, settings, result] = [this.#parts, this.#settings, this.#result];
    const chosen = this.#choose(settings);
    const limitMs = this.#limitOf(chosen);
    const topology = await inTime(parts.topology(settings), limitMs);
    try {
      const load = await inTime(parts.load(topology, settings), limitMs);
      this.#endsAt = performance.now() + limitMs;
      await this.#runOn({ topology, load, random: createRandom(settings.seed), settings }, chosen);
      if (result.problems.length > 0) result.evidence = await keepEvidence(topology, parts.name);
      await this.#attempt("the load's end", () => load[Symbol.asyncDispose](), END_MS_MAX);
    } finally {
      await this.#attempt("the end", () => topology[Symbol.asyncDispose](), END_MS_MAX);
    }
    await this.#attempt("nothing left running", () => expectNothingLeft(topology), END_MS_MAX);
    return result;
  }

  /** Injects the faults, ends the load, and checks. */
  async #runOn(run: Run<T, L>, faults: readonly Fault<T, L>[]): Promise<void> {
    await this.#injectAll(run, faults);
    await this.#attempt("the load", () => run.load.stop());
    const { expected } = run.settings;
    const isShown = (): boolean =>
      this.#result.problems.some((text) => expected?.test(text) === true);
    for (const { name, verify } of this.#parts.checks)
      if (!isShown()) await this.#attempt(name, () => verify(run));
  }

  /** How long the faults and checks may take: as the row says, and more for more faults. */
  #limitOf(chosen: readonly Fault<T, L>[]): number {
    const { seconds, faults } = this.#parts;
    const { long, rounds = 0 } = this.#settings;
    if (long) return LONG_MS_MAX;
    const usual = faults.filter(({ isOnlyForChanges = false }) => !isOnlyForChanges).length;
    const share = Math.max(1, Math.max(rounds, chosen.length) / Math.max(1, usual));
    return seconds * 1_000 * SLOWDOWN_MAX * share;
  }

  /** Notes what work measured, or its problem. */
  async #attempt(
    name: string,
    work: () => PromiseLike<string | void>,
    limitMs = this.#endsAt - performance.now(),
  ): Promise<void> {
    const { problems, notes } = this.#result;
    const { log } = this.#settings;
    try {
      if (limitMs <= 0) throw new Error("No time is left for it.");
      const note = await inTime(work(), limitMs);
      if (typeof note !== "string") return;
      notes.push(note);
      log(`${name}: ${note}`);
    } catch (error) {
      problems.push(`${name}: ${messagesOf(error).join(": ")}`);
      log(`FAILED ${problems.at(-1)}`);
    }
  }

  /** Injects each fault once, in random order, then again, until there are enough or one failed. */
  async #injectAll(run: Run<T, L>, chosen: readonly Fault<T, L>[]): Promise<void> {
    const { random, settings, topology, load } = run;
    const { inOrder = false, sentMin = 0, roundsLong = 0 } = this.#parts;
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

/** Settles as the work does; rejects when it takes longer. */
const inTime = <R>(work: PromiseLike<R>, ms: number): Promise<R> =>
  withTimeout(work, ms, () => new Error(`It has not ended after ${Math.round(ms / 1_000)} s.`));

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
