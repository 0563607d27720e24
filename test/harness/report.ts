/** Reports a benchmark: prints a table, and writes `bench/results/NAME.json`. */
import { mkdirSync, writeFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { join } from "node:path";

import { PROJECT_DIR } from "./stack.ts";

/** A target, and the measured value. */
export type Target = { name: string; value: number; target: string; met: boolean };

export type Result = {
  name: string;
  versions: Record<string, string>;
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

/** Prints the result and writes its file, whether targets are met or missed. */
export function publish({ name, versions, rows, targets }: Result): void {
  console.table(rows);
  console.table(targets);
  const machine = {
    cpu: cpus()[0]?.model ?? "unknown",
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
  };
  const dir = join(PROJECT_DIR, "bench", "results");
  mkdirSync(dir, { recursive: true });
  const path = join(dir, `${name}.json`);
  const result = { name, date: new Date().toISOString(), machine, versions, rows, targets };
  writeFileSync(path, `${JSON.stringify(result, undefined, 2)}\n`);
  console.log(path);
}

export const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

export const round = (value: number): number => Math.round(value * 100) / 100;
