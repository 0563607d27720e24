/**
 * `npm test`: runs all tests, and prints one line with the counts at the end. `bun run test:unit`
 * runs those that need no stack; `bun run test:e2e [name …]` the end-to-end tests, or those whose
 * names contain a word; `bun run test:affected [commit]` those that import what changed since a
 * commit, or is not committed. With `--update-timings`, the times are recorded.
 */
import { chmodSync, rmSync } from "node:fs";

import { TRAVERSABLE_MODE } from "../deploy/local/secrets.ts";
import { TEST_TIMEOUT_MS } from "./harness/eventually.ts";
import { PostgresServer, SHARED_POSTGRES } from "./harness/postgres-server.ts";
import { createTemporaryDir } from "./harness/templates.ts";
import type { Failure, NamedOutcome } from "./runner/bun-test.ts";
import { countCores, suitShortLives } from "./runner/cores.ts";
import { findFiles, type Lanes, runInLanes, runsOfFiles, runsOfFolders } from "./runner/lanes.ts";
import { readRecordedTimes, recordTimes, sum } from "./runner/timing.ts";

/**
 * Processes that run at a time for each core, and how many more of those that mostly wait: for
 * elections, leases, time-outs. Twice as many take half as much processor time again, and no less
 * time: they take memory and caches from each other.
 */
const PROCESSES_PER_CORE = 1;
const WAITING_PROCESSES_PER_CORE = 1;

/** For more cores than this, no more at a time: they would share memory and a disk. */
const CORES_MAX = 2;

const CORES = Math.min(CORES_MAX, countCores());

/**
 * Files with failed tests that are run once more, alone, when all others have ended: on a busy
 * machine a test may fail for want of time. One that passes then is listed as flaky, which is a
 * fault to mend; more of them are no coincidence.
 */
const RERUN_FILES_MAX = 3;
const ALONE: Lanes = { all: 1, waiting: 0 };

/** How fast-check's errors begin. */
const FAILED_PROPERTY = "Property failed after";

const END_TO_END = ["test/api", "test/e2e"];

const UPDATE_TIMINGS = "--update-timings";

const UNIT = [
  "shared",
  "api",
  "cli",
  "clients",
  "dashboard",
  "redirector",
  "worker",
  "deploy",
  "test/harness",
  "test/hostile",
  "test/http-corpus",
  "test/runner",
];

type Selection = { unit: readonly string[]; endToEnd: readonly string[] };

const [word, ...words] = process.argv.slice(2).filter((argument) => argument !== UPDATE_TIMINGS);
const { unit, endToEnd } = select();
if (unit.length + endToEnd.length === 0) {
  console.error(`No test matches ${words.join(" or ")}.`);
  process.exit(2);
}

suitShortLives();
const lanes: Lanes = {
  all: Math.ceil(PROCESSES_PER_CORE * CORES),
  waiting: Math.floor(WAITING_PROCESSES_PER_CORE * CORES),
};
const outcomes = await runAll();
const failures = outcomes.flatMap((outcome) => outcome.failures);
const flaky = await findFlaky(failures);
if (process.argv.includes(UPDATE_TIMINGS)) recordTimes(outcomes);

const skipped = sum(outcomes.map((outcome) => outcome.skipped));
const failed = failures.length - flaky.length;
const passed = sum(outcomes.map((outcome) => outcome.tests)) - skipped - failed;

// Again at the end: what is printed last is what is read first, and all that is kept of a long log.
for (const failure of failures) {
  const { file, test, message } = failure;
  console.log(`(${flaky.includes(failure) ? "flaky" : "fail"}) ${file}: ${test}: ${message}`);
}
const others = [
  ...(flaky.length === 0 ? [] : [`${flaky.length} flaky`]),
  ...(skipped === 0 ? [] : [`${skipped} skipped`]),
];
console.log(`\n${[`${passed} passed`, `${failed} failed`, ...others].join(", ")}`);
process.exit(failed === 0 && passed > 0 ? 0 : 1);

/** Selects the tests by the command line; exits if it is wrong. */
function select(): Selection {
  if (word === undefined) return { unit: findFiles(UNIT, []), endToEnd: findFiles(END_TO_END, []) };
  if (word === "unit") return { unit: findFiles(UNIT, []), endToEnd: [] };
  if (word === "e2e") return { unit: [], endToEnd: findFiles(END_TO_END, words) };
  if (word === "affected") return runAffected(words[0] ?? "HEAD");
  console.error(
    "Usage: bun test/run.ts [unit | e2e [FILE …] | affected [COMMIT]] [--update-timings]",
  );
  return process.exit(2);
}

/** Runs the tests that import what differs from a commit, and exits with their outcome. */
function runAffected(commit: string): never {
  // Bun sees what has changed, and not what is gone.
  const git = ["git", "diff", "--name-only", "--no-renames", "--diff-filter=D", commit, "--"];
  const { stdout } = Bun.spawnSync([...git, "*.ts", "*.tsx", "*.json"]);
  const gone = stdout.toString().trim();
  if (gone !== "") console.log(`What imports a file that is gone is found by bun check:\n${gone}`);
  const folders = [...UNIT, ...END_TO_END].map((folder) => `./${folder}/`);
  const flags = [`--timeout=${TEST_TIMEOUT_MS}`, `--changed=${commit}`, "--pass-with-no-tests"];
  const { exitCode } = Bun.spawnSync([process.execPath, "test", ...flags, ...folders], {
    stdio: ["ignore", "inherit", "inherit"],
  });
  process.exit(exitCode);
}

/** Unit tests share a PostgreSQL and a folder for their files; each end-to-end file has a stack. */
async function runAll(): Promise<NamedOutcome[]> {
  const times = readRecordedTimes();
  if (unit.length === 0) return await runInLanes(runsOfFiles(endToEnd), lanes, times);
  await using postgres = await PostgresServer.start();
  // In memory where there is room: they write thousands of small files.
  const dir = createTemporaryDir("shorthop-unit-");
  // PostgreSQL's user must be able to traverse it.
  chmodSync(dir, TRAVERSABLE_MODE);
  const env = { [SHARED_POSTGRES]: postgres.url, TMPDIR: dir };
  try {
    return await runInLanes([...runsOfFolders(unit, env), ...runsOfFiles(endToEnd)], lanes, times);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/**
 * Runs the files of failed tests again, alone, unless they are too many; finds the failures that
 * did not come again. A property is not among them: it has found an input that is answered wrongly,
 * and would be run with others.
 */
async function findFlaky(all: readonly Failure[]): Promise<Failure[]> {
  const failed = all.filter(({ message }) => !message.includes(FAILED_PROPERTY));
  const again = [...new Set(failed.map(({ file }) => file))].filter((file) =>
    /^\S+\.test\.tsx?$/.test(file),
  );
  if (again.length === 0 || again.length > RERUN_FILES_MAX) return [];
  console.log("\n== failed files again, alone ==");
  const outcomes = await runInLanes(runsOfFiles(again), ALONE, readRecordedTimes());
  const left = outcomes.flatMap((outcome) => outcome.failures);
  return failed.filter(
    ({ file }) => again.includes(file) && !left.some((failure) => failure.file === file),
  );
}
