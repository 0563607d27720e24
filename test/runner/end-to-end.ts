/** Runs the files of end-to-end tests, some at a time. */
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { freePort } from "../harness/ports.ts";
import { type Stack, startStack } from "../harness/stack.ts";
import { type Outcome, runBunTest } from "./bun-test.ts";

const ROOT = join(import.meta.dir, "../..");

/**
 * Timeout of one test, which may start several stacks on a machine that is six times slower than
 * ours.
 */
const TEST_TIMEOUT_MS = 900_000;

/** These take longest, so they start first: the last file to end should be a short one. */
const LONG_FILES = ["batches", "feed-recovery", "click-limits", "chaos", "cluster", "rolling"];

/** What a file imports whose tests leave the stack undisturbed. */
const SHARED_STACK = "harness/shared-stack.ts";

export type FileOutcome = Outcome & { file: string };

type LaneStack = { stack: Stack; env: Record<string, string> };

/** Finds the files whose paths contain one of the words, or all. */
export function findFiles(words: readonly string[]): string[] {
  const names = words.map((word) => word.replace(/^\.\//, ""));
  return [...new Bun.Glob("test/e2e/**/*.test.ts").scanSync(ROOT)]
    .filter((file) => names.length === 0 || names.some((name) => file.includes(name)))
    .toSorted();
}

/**
 * Runs each file in a process of its own, so many at a time, and prints what each printed when it
 * has ended. Those that share a stack come last, one stack for each of the files that run at a
 * time.
 */
export async function runFiles(files: readonly string[], atOnce: number): Promise<FileOutcome[]> {
  const logs = mkdtempSync(join(tmpdir(), "shorthop-logs-"));
  const sharing = new Set(files.filter(sharesStack));
  const rank = (file: string): number =>
    sharing.has(file) ? LONG_FILES.length + 1 : longRank(file);
  const waiting = files.toSorted((a, b) => rank(a) - rank(b));
  const outcomes: FileOutcome[] = [];

  async function runOne(file: string, env: Record<string, string>): Promise<Outcome> {
    const path = join(logs, file.replaceAll("/", "-"));
    const output = openSync(path, "w");
    const flags = [`--timeout=${TEST_TIMEOUT_MS}`];
    const outcome = await runBunTest({ paths: [file], flags, env, output });
    closeSync(output);
    console.log(readFileSync(path, "utf8"));
    outcomes.push({ file, ...outcome });
    return outcome;
  }

  async function runLane(): Promise<void> {
    let shared: LaneStack | undefined;
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      if (!sharing.has(file)) {
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

  await Promise.all(Array.from({ length: atOnce }, runLane));
  rmSync(logs, { recursive: true });
  return outcomes;
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
  readFileSync(join(ROOT, file), "utf8").includes(SHARED_STACK);

/** The place of a file among the long ones, or that after them. */
function longRank(file: string): number {
  const rank = LONG_FILES.findIndex((name) => file.endsWith(`/${name}.test.ts`));
  return rank < 0 ? LONG_FILES.length : rank;
}
