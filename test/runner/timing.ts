/** What the time of a run went to: `test/results/timing.json`. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { availableParallelism, cpus } from "node:os";
import { join } from "node:path";

import { STARTS_VARIABLE } from "../harness/start-times.ts";
import type { FileOutcome } from "./end-to-end.ts";

const RESULTS = join(import.meta.dir, "../results");

/** What processes of the run append to. */
const STARTS = join(RESULTS, "starts.jsonl");

const SLOWEST = 10;

/** Has every test process of this run say how long its stacks took to start. */
export function collectStarts(): void {
  mkdirSync(RESULTS, { recursive: true });
  writeFileSync(STARTS, "");
  process.env[STARTS_VARIABLE] = STARTS;
}

/** Writes the times of a run. */
export function writeTiming(
  startedAt: Date,
  unitSeconds: number | undefined,
  files: readonly FileOutcome[],
): void {
  const starts = readFileSync(STARTS, "utf8").trim().split("\n");
  const timing = {
    date: startedAt.toISOString(),
    machine: { cpus: availableParallelism(), model: cpus()[0]?.model },
    seconds: round((Date.now() - startedAt.getTime()) / 1_000),
    unit_seconds: unitSeconds === undefined ? undefined : round(unitSeconds),
    end_to_end: {
      files: files.length,
      file_seconds: round(sum(files.map(({ seconds }) => seconds))),
      cpu_seconds: round(sum(files.map(({ cpuSeconds }) => cpuSeconds))),
    },
    slowest_files: files
      .toSorted((a, b) => b.seconds - a.seconds)
      .slice(0, SLOWEST)
      .map(({ file, seconds, cpuSeconds, tests }) => ({
        file,
        tests,
        seconds: round(seconds),
        cpu_seconds: round(cpuSeconds),
      })),
    stack_starts: starts.filter((line) => line !== "").map((line): unknown => JSON.parse(line)),
  };
  writeFileSync(join(RESULTS, "timing.json"), `${JSON.stringify(timing, undefined, 2)}\n`);
}

const round = (seconds: number): number => Math.round(seconds * 10) / 10;

export const sum = (numbers: readonly number[]): number =>
  numbers.reduce((total, n) => total + n, 0);
