/** What the time of a run went to, and the recorded times by which files are ordered. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { availableParallelism, cpus } from "node:os";
import { join } from "node:path";

import * as z from "zod";

import { STARTS_VARIABLE } from "../harness/stack.ts";
import type { NamedOutcome } from "./bun-test.ts";

const ROOT = join(import.meta.dir, "../..");
const RESULTS = join(ROOT, "test/results");

/** What processes of the run append to. */
const STARTS = join(RESULTS, "starts.jsonl");

/** `--update-timings` writes it. */
const RECORDED = join(import.meta.dir, "timings.json");

const timeSchema = z.object({ seconds: z.number(), cpu_seconds: z.number() });
const recordedTimes = z.record(z.string(), timeSchema);

/** How long each file or folder took in the run that was recorded last. */
export type RecordedTimes = Readonly<z.output<typeof recordedTimes>>;

export const readRecordedTimes = (): RecordedTimes =>
  recordedTimes.parse(JSON.parse(readFileSync(RECORDED, "utf8")));

/** Records the times of runs that passed; those of others stay, if they exist. */
export function recordTimes(runs: readonly NamedOutcome[]): void {
  const passed = runs.filter(({ failures }) => failures.length === 0);
  const times = { ...readRecordedTimes(), ...Object.fromEntries(passed.map(timeOf)) };
  const left = Object.entries(times)
    .filter(([name]) => existsSync(join(ROOT, name)))
    .toSorted(([, a], [, b]) => b.seconds - a.seconds);
  const lines = left.map(([file, time]) => `  ${JSON.stringify(file)}: ${write(time)}`);
  writeFileSync(RECORDED, `{\n${lines.join(",\n")}\n}\n`);
}

const write = ({ seconds, cpu_seconds }: z.output<typeof timeSchema>): string =>
  `{ "seconds": ${seconds}, "cpu_seconds": ${cpu_seconds} }`;

const timeOf = ({
  name,
  seconds,
  cpuSeconds,
}: NamedOutcome): [string, z.output<typeof timeSchema>] => [
  name,
  { seconds: round(seconds), cpu_seconds: round(cpuSeconds) },
];

/** Has every test process of this run say how long its stacks took to start. */
export function collectStarts(): void {
  mkdirSync(RESULTS, { recursive: true });
  writeFileSync(STARTS, "");
  process.env[STARTS_VARIABLE] = STARTS;
}

/** Writes the times of a run: `test/results/timing.json`. */
export function writeTiming(startedAt: Date, runs: readonly NamedOutcome[]): void {
  const starts = readFileSync(STARTS, "utf8").trim().split("\n");
  const timing = {
    date: startedAt.toISOString(),
    machine: { cpus: availableParallelism(), model: cpus()[0]?.model },
    seconds: round((Date.now() - startedAt.getTime()) / 1_000),
    runs: {
      count: runs.length,
      seconds: round(sum(runs.map(({ seconds }) => seconds))),
      cpu_seconds: round(sum(runs.map(({ cpuSeconds }) => cpuSeconds))),
    },
    by_name: Object.fromEntries(runs.toSorted((a, b) => b.seconds - a.seconds).map(timeOf)),
    stack_starts: starts.filter((line) => line !== "").map((line): unknown => JSON.parse(line)),
  };
  writeFileSync(join(RESULTS, "timing.json"), `${JSON.stringify(timing, undefined, 2)}\n`);
}

const round = (seconds: number): number => Math.round(seconds * 10) / 10;

export const sum = (numbers: readonly number[]): number =>
  numbers.reduce((total, n) => total + n, 0);
