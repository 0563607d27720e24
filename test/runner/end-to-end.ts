/** Runs files of end-to-end tests, some at a time. */
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { freePort } from "../harness/ports.ts";
import { type Stack, startStack } from "../harness/stack.ts";
import { type FileOutcome, type Outcome, runBunTest } from "./bun-test.ts";
import type { RecordedTimes } from "./timing.ts";

const ROOT = join(import.meta.dir, "../..");

/**
 * Timeout of one test, which may start several stacks on a machine that is six times slower than
 * ours.
 */
const TEST_TIMEOUT_MS = 900_000;

/** A file that uses less of its time than this on a core mostly waits. */
const WAITING_CORE_MAX = 1 / 3;

/** A file without a recorded time may take longer than any other. */
const UNKNOWN_SECONDS = 10_000;

/** What a file imports whose tests leave the stack undisturbed. */
const SHARED_STACK = /harness\/(shared-stack|dashboard-browser)\.ts/;

/** How many files run at a time, and how many more of those that mostly wait. */
export type Lanes = { all: number; waiting: number };

/** Which files a lane runs, and which of them first. */
type Lane = Record<"accepts" | "prefers", (file: string) => boolean>;

type LaneStack = { stack: Stack; env: Record<string, string> };

/** Finds the files in a folder whose paths contain one of the words, or all. */
export function findFiles(folder: string, words: readonly string[]): string[] {
  const names = words.map((word) => word.replace(/^\.\//, ""));
  return [...new Bun.Glob(`${folder}/**/*.test.ts`).scanSync(ROOT)]
    .filter((file) => names.length === 0 || names.some((name) => file.includes(name)))
    .toSorted();
}

/**
 * Orders files: those without a recorded time first, then the longest first, so that the last ones
 * to end are short.
 */
function orderFiles(files: readonly string[], times: RecordedTimes): string[] {
  const seconds = (file: string): number => times[file]?.seconds ?? UNKNOWN_SECONDS;
  return files.toSorted((a, b) => seconds(b) - seconds(a) || a.localeCompare(b));
}

/** Runs each file in a process of its own, and prints what each printed when it has ended. */
export async function runFiles(
  files: readonly string[],
  lanes: Lanes,
  times: RecordedTimes,
): Promise<FileOutcome[]> {
  const logs = mkdtempSync(join(tmpdir(), "shorthop-logs-"));
  const queue = orderFiles(files, times);
  const outcomes: FileOutcome[] = [];

  async function runOne(file: string, env: Record<string, string>): Promise<Outcome> {
    const { outcome, output } = await runFile(file, env, join(logs, file.replaceAll("/", "-")));
    console.log(output);
    outcomes.push({ file, ...outcome });
    return outcome;
  }

  /** The file that a lane runs next: one that it prefers, else one that it accepts. */
  const take = ({ prefers, accepts }: Lane): string | undefined =>
    takeFirst(queue, (file) => accepts(file) && prefers(file)) ?? takeFirst(queue, accepts);

  async function runLane(lane: Lane): Promise<void> {
    let shared: LaneStack | undefined;
    for (let file = take(lane); file !== undefined; file = take(lane)) {
      if (!sharesStack(file)) {
        await runOne(file, {});
        continue;
      }
      shared ??= await startLaneStack();
      const { failures } = await runOne(file, shared.env);
      if (failures.length === 0) continue;
      // What failed may have left anything behind.
      await shared.stack[Symbol.asyncDispose]();
      shared = undefined;
    }
    await shared?.stack[Symbol.asyncDispose]();
  }

  // The further lanes start no stack to share.
  const mostlyWaits = (file: string): boolean => {
    const time = times[file];
    return (
      time !== undefined && !sharesStack(file) && time.cpu_seconds < WAITING_CORE_MAX * time.seconds
    );
  };
  // Every other lane prefers files that share a stack, as an idle stack takes time, too.
  const all = Array.from({ length: lanes.all }, (_, i): Lane => {
    const shares = i % 2 === 0;
    return { accepts: () => true, prefers: (file) => sharesStack(file) === shares };
  });
  const waiting = Array.from({ length: lanes.waiting }, (): Lane => ({
    accepts: mostlyWaits,
    prefers: mostlyWaits,
  }));
  await Promise.all([...all, ...waiting].map(runLane));
  rmSync(logs, { recursive: true });
  return outcomes;
}

/** Runs one file; what it prints goes to a path, and is returned. */
export async function runFile(
  file: string,
  env: Record<string, string>,
  path: string,
): Promise<{ outcome: Outcome; output: string }> {
  const fd = openSync(path, "w");
  const flags = [`--timeout=${TEST_TIMEOUT_MS}`];
  const outcome = await runBunTest({ paths: [file], flags, env, output: fd });
  closeSync(fd);
  return { outcome, output: readFileSync(path, "utf8") };
}

/** Takes the first file that is accepted out of a queue. */
function takeFirst(queue: string[], accepts: (file: string) => boolean): string | undefined {
  const place = queue.findIndex(accepts);
  return place < 0 ? undefined : queue.splice(place, 1)[0];
}

/**
 * Starts a stack for files that share it; each that needs a DNS server starts it at the address the
 * stack asks.
 */
async function startLaneStack(): Promise<LaneStack> {
  const dns = `127.0.0.1:${freePort()}`;
  const stack = await startStack({ env: { DNS_SERVERS: dns } });
  return { stack, env: { SHORTHOP_TEST_STACK: stack.dataDir, SHORTHOP_TEST_DNS: dns } };
}

const sharesStack = (file: string): boolean =>
  SHARED_STACK.test(readFileSync(join(ROOT, file), "utf8"));
