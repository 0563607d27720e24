/** Reports a benchmark: prints a table, and writes `bench/results/NAME.json`. */
import { mkdirSync, writeFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { join } from "node:path";

import { PROJECT_DIR } from "./stack.ts";

/** A target, and the measured value. */
export type Target = { name: string; value: number; target: string; met: boolean };

export type Result = {
  name: string;
  /** Of other programs than Bun. */
  versions?: Record<string, string>;
  rows: Record<string, string | number>[];
  targets: Target[];
};

/** A target of at most `bound`. */
export const atMost = (name: string, value: number, bound: number): Target => ({
  name,
  value: round(value),
  target: `<= ${round(bound)}`,
  met: value <= bound,
});

/** A target of at least `bound`. */
export const atLeast = (name: string, value: number, bound: number): Target => ({
  name,
  value: round(value),
  target: `>= ${round(bound)}`,
  met: value >= bound,
});

/** Prints the result and writes its file, whether targets are met or missed. */
export function publish({ name, versions: others = {}, rows, targets }: Result): void {
  console.table(rows);
  console.table(targets);
  const machine = {
    cpu: cpus()[0]?.model ?? "unknown",
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
  };
  const versions = { bun: Bun.version, ...others };
  const dir = join(PROJECT_DIR, "bench", "results");
  mkdirSync(dir, { recursive: true });
  const path = join(dir, `${name}.json`);
  const result = { name, date: new Date().toISOString(), machine, versions, rows, targets };
  writeFileSync(path, `${JSON.stringify(result, undefined, 2)}\n`);
  console.log(path);
}

/** The value of which a part of the others, from 0 to 1, is less; NaN without any. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}

export const median = (values: readonly number[]): number => quantile(values, 0.5);

export const round = (value: number): number => Math.round(value * 100) / 100;
