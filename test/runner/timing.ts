/** The recorded times by which files are ordered. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import * as z from "zod";

import type { NamedOutcome } from "./bun-test.ts";

const ROOT = join(import.meta.dir, "../..");

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
  const times = {
    ...readRecordedTimes(),
    ...Object.fromEntries(
      passed.map(({ name, seconds, cpuSeconds }) => [
        name,
        { seconds: round(seconds), cpu_seconds: round(cpuSeconds) },
      ]),
    ),
  };
  const left = Object.entries(times)
    .filter(([name]) => existsSync(join(ROOT, name)))
    .toSorted(([, a], [, b]) => b.seconds - a.seconds)
    .map(([file, { seconds, cpu_seconds }]) => {
      const time = `{ "seconds": ${seconds}, "cpu_seconds": ${cpu_seconds} }`;
      return `  ${JSON.stringify(file)}: ${time}`;
    });
  writeFileSync(RECORDED, `{\n${left.join(",\n")}\n}\n`);
}

const round = (seconds: number): number => Math.round(seconds * 10) / 10;

export const sum = (numbers: readonly number[]): number =>
  numbers.reduce((total, n) => total + n, 0);
