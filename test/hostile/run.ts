/**
 * Attacks a stack on every route with inputs generated from a seed. No process may end, and no
 * response may be a 5xx without a reason or belong to another request; stalls of event loops are
 * measured, and named with what was in flight.
 */
import type { Stack } from "../harness/stack.ts";
import {
  describeInput,
  findFault,
  type Finding,
  Findings,
  readLoggedErrors,
  Tally,
} from "./findings.ts";
import { createFixtures } from "./fixtures.ts";
import { type Input, Inputs } from "./inputs.ts";
import { formatRoute, listRoutes, readPorts, type Surface } from "./routes.ts";
import { type Memory, PROCESS_OF, StackWatch, type Stall, type WatchedProcess } from "./watch.ts";
import { type Exchange, sendInput } from "./wire.ts";

export type HostileOptions = {
  seed: number;
  seconds: number;
  /**
   * Maximum inputs per second: the measurement is about the service, not about a machine without a
   * free core.
   */
  rate: number;
  /** Sends only these inputs, one after another. */
  only?: readonly number[] | undefined;
  /** Logs stalls of at least this length, in milliseconds. */
  stallMsMin: number;
  log: (line: string) => void;
};

export type HostileReport = {
  sent: number;
  rows: Record<string, string | number>[];
  findings: Finding[];
  /** Longest stall of each process, in milliseconds. */
  longestStalls: Record<WatchedProcess, number>;
  cpuWaitSeconds: Record<string, number>;
  memory: Memory[];
  /** Logged errors, deduplicated. */
  errors: string[];
};

/** Quick inputs in flight. */
const IN_FLIGHT = 64;

/**
 * Inputs in flight beyond those that are slow or may never get a response: they cost next to
 * nothing.
 */
const SLOW_IN_FLIGHT_MAX = 256;

/** Recent inputs retained as suspects of a stall or crash. */
const RECENT_MAX = 2_000;

/** An input is a suspect of a crash or a stall if it was in flight within this time before it. */
const SUSPECT_MS = 1_500;
const SUSPECTS_MAX = 30;

const LOG_EVERY_SECONDS = 30;

type Sent = { input: Input; from: number; until: number };

/** Attacks a stack that nobody has attacked before. */
export async function attackStack(stack: Stack, options: HostileOptions): Promise<HostileReport> {
  const inputs = new Inputs(options.seed, listRoutes(), await createFixtures(stack));
  return await new HostileRun(stack, inputs, options).run();
}

class HostileRun {
  readonly #stack: Stack;
  readonly #inputs: Inputs;
  readonly #options: HostileOptions;
  readonly #ports: Record<Surface, number>;
  readonly #findings: Findings;
  readonly #tally = new Tally();
  readonly #recent: Sent[] = [];

  constructor(stack: Stack, inputs: Inputs, options: HostileOptions) {
    this.#stack = stack;
    this.#inputs = inputs;
    this.#options = options;
    this.#ports = readPorts(stack);
    this.#findings = new Findings(options.seed, options.log);
  }

  async run(): Promise<HostileReport> {
    const { only, log } = this.#options;
    const watch = new StackWatch(this.#stack, {
      onEnd: (name) => this.#recordCrash(name),
      onStall: (stall) => this.#recordStall(stall),
    });
    if (only === undefined) await this.#attackForDuration();
    for (const index of only ?? []) {
      const input = this.#inputs.make(index);
      log(`${index}: ${describeInput(input)}`);
      await this.#attack(input);
    }
    await watch.stop();
    const longest = (name: WatchedProcess): number =>
      Math.max(0, ...watch.stalls.flatMap(({ process, ms }) => (process === name ? [ms] : [])));
    return {
      sent: this.#tally.sent,
      rows: this.#tally.rows(),
      findings: this.#findings.all(),
      longestStalls: {
        api: longest("api"),
        redirector: longest("redirector"),
        worker: longest("worker"),
      },
      cpuWaitSeconds: Object.fromEntries(watch.cpuWaitSeconds),
      memory: watch.memory(),
      errors: readLoggedErrors(this.#stack.dataDir),
    };
  }

  /** Sends inputs concurrently, at a rate that leaves the stack some capacity. */
  async #attackForDuration(): Promise<void> {
    const { seconds, rate, log } = this.#options;
    const { supervisor } = this.#stack;
    const started = performance.now();
    const elapsed = (): number => (performance.now() - started) / 1_000;
    const slow = new Set<Promise<void>>();
    let next = 0;
    let loggedAt = 0;
    const lane = async (): Promise<void> => {
      while (elapsed() < seconds && supervisor.exitCode === null) {
        const index = next++;
        const early = index / rate - elapsed();
        if (early > 0) await Bun.sleep(early * 1_000);
        const input = this.#inputs.make(index);
        if (isQuick(input)) {
          await this.#attack(input);
        } else {
          if (slow.size >= SLOW_IN_FLIGHT_MAX) await Promise.race(slow);
          const sending = this.#attack(input).finally(() => slow.delete(sending));
          slow.add(sending);
        }
        if (elapsed() - loggedAt > LOG_EVERY_SECONDS) {
          loggedAt = elapsed();
          log(`${Math.round(loggedAt)} s: ${next} inputs`);
        }
      }
    };
    await Promise.all(Array.from({ length: IN_FLIGHT }, lane));
    await Promise.all(slow);
    if (supervisor.exitCode !== null)
      log(`The stack stopped by itself:\n${this.#stack.output().slice(-5_000)}`);
  }

  async #attack(input: Input): Promise<void> {
    const entry: Sent = { input, from: performance.now(), until: Number.POSITIVE_INFINITY };
    this.#recent.push(entry);
    if (this.#recent.length > RECENT_MAX) this.#recent.shift();
    const port = this.#ports[input.route.surface];
    const exchanges = await Promise.all(
      Array.from({ length: input.copies }, () => sendInput(input, port)),
    );
    entry.until = performance.now();
    for (const exchange of exchanges) this.#check(input, exchange);
  }

  #check(input: Input, exchange: Exchange): void {
    this.#tally.add(input, exchange);
    const fault = findFault(input, exchange);
    if (fault === undefined) return;
    const where = `${formatRoute(input.route)} × ${input.generator}`;
    this.#findings.add({ ...fault, where, index: input.index });
  }

  #recordStall(stall: Stall): void {
    const { stallMsMin, log } = this.#options;
    if (stall.ms < stallMsMin) return;
    const suspects = this.#inFlightSince(stall.at - stall.ms - SUSPECT_MS, stall.process);
    log(`${stall.process} stalled for ${Math.round(stall.ms)} ms; in flight: ${suspects.join()}`);
  }

  #recordCrash(name: string): void {
    const suspects = this.#inFlightSince(performance.now() - SUSPECT_MS, name);
    const what = `in flight: ${suspects.join()}`;
    this.#findings.add({ kind: "process ended", where: name, what });
  }

  /** The indexes of the last inputs to a process that were in flight since a time. */
  #inFlightSince(since: number, process: string): number[] {
    return this.#recent
      .filter(({ input, until }) => until > since && processOf(input) === process)
      .slice(-SUSPECTS_MAX)
      .map(({ input }) => input.index);
  }
}

const processOf = ({ route }: Input): string => PROCESS_OF[route.surface] ?? "clickhouse";

const isQuick = ({ complete, delivery }: Input): boolean =>
  complete && (delivery.kind === "whole" || delivery.kind === "split");
