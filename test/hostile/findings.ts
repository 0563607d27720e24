/** Collects findings: reports each kind at each location once, with the bytes to reproduce it. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { PROJECT_DIR } from "../harness/stack.ts";
import type { Input } from "./inputs.ts";

export type Finding = {
  kind: string;
  /** Route and generator, or the affected process. */
  where: string;
  what: string;
  /** Occurrences of this kind at this location. */
  count: number;
  /** The first input that caused it, to replay it. */
  index?: number;
};

/** Number and size of the saved input files. */
const SAVED_MAX = 40;
const SAVED_BYTES_MAX = 256 * 1024;

/** Kinds of logged errors that are reported. */
const REPORTED_ERRORS_MAX = 20;

export function createFindings(seed: number, log: (line: string) => void) {
  const dir = join(PROJECT_DIR, ".local", "hostile");
  const found = new Map<string, Finding>();
  const saved = new Set<number>();
  return {
    add(finding: Omit<Finding, "count">): void {
      const id = `${finding.kind} ${finding.where}`;
      const known = found.get(id);
      if (known !== undefined) {
        known.count++;
        return;
      }
      found.set(id, { ...finding, count: 1 });
      const replay = finding.index === undefined ? "" : ` (--seed ${seed} --only ${finding.index})`;
      log(`${finding.kind}: ${finding.where}: ${finding.what}${replay}`);
    },
    save({ index, bytes }: Input): void {
      if (saved.size >= SAVED_MAX || saved.has(index)) return;
      saved.add(index);
      mkdirSync(dir, { recursive: true });
      writeFileSync(join(dir, `${seed}-${index}.bin`), bytes.subarray(0, SAVED_BYTES_MAX));
    },
    all: (): Finding[] => [...found.values()],
  };
}

const REPORTED = /"level":"(?:error|fatal)"|"event":"request_failed"/;

/**
 * Returns logged errors and failed requests of all processes; lines that differ only in ids and
 * times count as one.
 */
export function readLoggedErrors(dataDir: string): string[] {
  const kinds = new Map<string, string>();
  for (const name of ["api", "redirector", "worker", "clickhouse"]) {
    const path = join(dataDir, "logs", `${name}.log`);
    if (!existsSync(path)) continue;
    for (const line of readFileSync(path, "utf8").split("\n")) {
      if (!REPORTED.test(line)) continue;
      const kind = name + (/"(?:message|error)":"[^"]{0,60}/.exec(line)?.[0] ?? line.slice(0, 80));
      if (!kinds.has(kind) && kinds.size < REPORTED_ERRORS_MAX)
        kinds.set(kind, line.slice(0, 1_200));
    }
  }
  return [...kinds.values()];
}
