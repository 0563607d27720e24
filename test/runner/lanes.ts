/** Runs tests in processes of their own, some at a time. */
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { findFreePort } from "../../deploy/local/ports.ts";
import { TEST_TIMEOUT_MS } from "../harness/eventually.ts";
import { type Stack, startStack } from "../harness/stack.ts";
import { type NamedOutcome, type Outcome, runBunTest } from "./bun-test.ts";
import type { RecordedTimes } from "./timing.ts";

const ROOT = join(import.meta.dir, "../..");

/** A run that uses less of its time than this on a core mostly waits. */
const WAITING_CORE_MAX = 1 / 3;

/** A run without a recorded time may take longer than any other. */
const UNKNOWN_SECONDS = 10_000;

/** What a file has whose tests leave the stack undisturbed. */
const SHARED_STACK = /\buseStack\(|harness\/dashboard-browser\.ts/;

/** What one process runs: an end-to-end file, or the unit tests of a folder. */
export type TestRun = {
  /** The file or the folder, under which its time is recorded. */
  name: string;
  files: readonly string[];
  /** Variables of its process. */
  env: Readonly<Record<string, string>>;
  /** Whether its tests leave the stack undisturbed, which others have after them. */
  sharesStack: boolean;
};

/** How many run at a time, and how many more of those that mostly wait. */
export type Lanes = { all: number; waiting: number };

type LaneStack = { stack: Stack; env: Record<string, string> };

/** Finds the files in folders whose paths contain one of the words, or all. */
export function findFiles(folders: readonly string[], words: readonly string[]): string[] {
  const names = words.map((word) => word.replace(/^\.\//, ""));
  return folders
    .flatMap((folder) => [...new Bun.Glob(`${folder}/**/*.test.{ts,tsx}`).scanSync(ROOT)])
    .filter((file) => !file.includes("node_modules/"))
    .filter((file) => names.length === 0 || names.some((name) => file.includes(name)))
    .toSorted();
}

export const runsOfFiles = (files: readonly string[]): TestRun[] =>
  files.map((name) => ({ name, files: [name], env: {}, sharesStack: sharesStack(name) }));

const sharesStack = (file: string): boolean =>
  SHARED_STACK.test(readFileSync(join(ROOT, file), "utf8"));

/**
 * Unit tests by folder: its files import the same sources, which one process loads once. In one
 * process for all of them, collecting the garbage of its heap takes longer than that saves.
 */
export function runsOfFolders(files: readonly string[], env: TestRun["env"]): TestRun[] {
  const folders = Map.groupBy(files, (file) => dirname(file).split("/").slice(0, 2).join("/"));
  return [...folders].map(([name, inFolder]) => ({
    name,
    files: inFolder,
    env,
    sharesStack: false,
  }));
}

/**
 * Orders runs: those without a recorded time first, then the longest first, so that the last ones
 * to end are short.
 */
function orderRuns(runs: readonly TestRun[], times: RecordedTimes): TestRun[] {
  const seconds = ({ name }: TestRun): number => times[name]?.seconds ?? UNKNOWN_SECONDS;
  return runs.toSorted((a, b) => seconds(b) - seconds(a) || a.name.localeCompare(b.name));
}

/** Runs each in a process of its own, and prints what each printed when it has ended. */
export async function runInLanes(
  runs: readonly TestRun[],
  lanes: Lanes,
  times: RecordedTimes,
): Promise<NamedOutcome[]> {
  const logs = mkdtempSync(join(tmpdir(), "shorthop-logs-"));
  const queue = orderRuns(runs, times);
  const outcomes: NamedOutcome[] = [];

  async function runOne({ name, files, env }: TestRun): Promise<Outcome> {
    const path = join(logs, name.replaceAll("/", "-"));
    const { outcome, output } = await runProcess(files, env, path);
    console.log(output);
    outcomes.push({ name, ...outcome });
    return outcome;
  }

  async function runLane(accepts: (run: TestRun) => boolean): Promise<void> {
    let shared: LaneStack | undefined;
    for (;;) {
      const run = takeFirst(queue, accepts);
      if (run === undefined) break;
      if (!run.sharesStack) {
        await runOne(run);
        continue;
      }
      shared ??= await startLaneStack();
      const { failures } = await runOne({ ...run, env: { ...run.env, ...shared.env } });
      if (failures.length === 0) continue;
      // What failed may have left anything behind.
      await shared.stack[Symbol.asyncDispose]();
      shared = undefined;
    }
    await shared?.stack[Symbol.asyncDispose]();
  }

  // The further lanes start no stack to share.
  const mostlyWaits = ({ name, sharesStack }: TestRun): boolean => {
    const { seconds = 0, cpu_seconds = 0 } = times[name] ?? {};
    return !sharesStack && cpu_seconds < WAITING_CORE_MAX * seconds;
  };
  const all = Array.from({ length: lanes.all }, () => runLane(() => true));
  const waiting = Array.from({ length: lanes.waiting }, () => runLane(mostlyWaits));
  await Promise.all([...all, ...waiting]);
  rmSync(logs, { recursive: true });
  return outcomes;
}

/** Runs files in one process; what it prints goes to a path, and is returned. */
export async function runProcess(
  files: readonly string[],
  env: TestRun["env"],
  path: string,
): Promise<{ outcome: Outcome; output: string }> {
  const fd = openSync(path, "w");
  // Files of a process share modules and globals.
  const flags = [`--timeout=${TEST_TIMEOUT_MS}`, "--no-isolate"];
  const outcome = await runBunTest(files, flags, env, fd);
  closeSync(fd);
  return { outcome, output: readFileSync(path, "utf8") };
}

/** Takes the first run that is accepted out of a queue. */
function takeFirst(queue: TestRun[], accepts: (run: TestRun) => boolean): TestRun | undefined {
  const place = queue.findIndex(accepts);
  return place < 0 ? undefined : queue.splice(place, 1)[0];
}

/**
 * Starts a stack for files that share it; each that needs a DNS server starts it at the address the
 * stack asks.
 */
async function startLaneStack(): Promise<LaneStack> {
  const dns = `127.0.0.1:${findFreePort()}`;
  const stack = await startStack({ env: { DNS_SERVERS: dns } });
  return { stack, env: { SHORTHOP_TEST_STACK: stack.dataDir, SHORTHOP_TEST_DNS: dns } };
}
