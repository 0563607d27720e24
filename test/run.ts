/**
 * `npm test`: runs all tests, unit tests first, and prints one line with the counts at the end.
 * `bun run test:unit` runs those that need no stack; `bun run test:e2e [name …]` the end-to-end
 * tests, or those whose names contain a word; `bun run test:affected [commit]` those that can see
 * what changed since a commit, or is not committed. With `--update-timings`, the times of the
 * end-to-end files are recorded.
 */
import { chmodSync, rmSync } from "node:fs";

import { TRAVERSABLE_MODE } from "../deploy/local/private-files.ts";
import { SHARED_POSTGRES, startMigratedServer } from "./harness/postgres-server.ts";
import { createTemporaryDir } from "./harness/templates.ts";
import { findAffected } from "./runner/affected.ts";
import { type Failure, type FileOutcome, type Outcome, runBunTest } from "./runner/bun-test.ts";
import { countCores } from "./runner/cores.ts";
import { findFiles, type Lanes, runFiles } from "./runner/end-to-end.ts";
import { suitShortLives } from "./runner/short-lives.ts";
import {
  collectStarts,
  readRecordedTimes,
  recordTimes,
  sum,
  writeTiming,
} from "./runner/timing.ts";

/**
 * Timeout of one unit test, also on a machine that is six times slower than ours: one that takes
 * longer hangs.
 */
const UNIT_TIMEOUT_MS = 600_000;

/**
 * Files of end-to-end tests, and processes of unit tests, that run at a time for each core. They
 * wait half of the time and two thirds of it: for elections, leases, time-outs. Beside them runs
 * one more file that mostly waits.
 */
const FILES_PER_CORE = 2;
const WAITING_FILES_PER_CORE = 1;
const UNIT_PROCESSES_PER_CORE = 3;

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

/**
 * The slowest files of unit tests, which start first: with the slowest last, one process works on
 * it while the others have nothing to do. `bun test --update-timings` writes it.
 */
const UNIT_TIMINGS = "test/runner/unit-timings.json";

const END_TO_END = "test/{api,e2e}";

const UPDATE_TIMINGS = "--update-timings";

const UNIT_PATHS = [
  "shared",
  "api",
  "clients",
  "dashboard",
  "redirector",
  "worker",
  "deploy",
  "test/chaos",
  "test/drills",
  "test/hostile",
  "test/http-corpus",
  "test/runner",
];

type Selection = { unit: readonly string[]; files: readonly string[] };

const [word, ...words] = process.argv.slice(2).filter((argument) => argument !== UPDATE_TIMINGS);
const selection = select();
if (selection.unit.length + selection.files.length === 0) {
  console.error(`No test matches ${words.join(" or ")}.`);
  process.exit(2);
}

const startedAt = new Date();
collectStarts();
suitShortLives();
const unit = selection.unit.length === 0 ? undefined : await runUnitTests(selection.unit);
const files = await runEndToEnd(selection.files);
const outcomes: Outcome[] = [...(unit === undefined ? [] : [unit]), ...files];
const failures = outcomes.flatMap((outcome) => outcome.failures);
const flaky = await findFlaky(failures);
writeTiming(startedAt, unit?.seconds, files);
if (process.argv.includes(UPDATE_TIMINGS)) recordTimes(files);

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
  if (word === undefined) return { unit: UNIT_PATHS, files: findFiles(END_TO_END, []) };
  if (word === "unit") return { unit: UNIT_PATHS, files: [] };
  if (word === "e2e") return { unit: [], files: findFiles(END_TO_END, words) };
  if (word === "affected") return selectAffected();
  console.error(
    "Usage: bun test/run.ts [unit | e2e [FILE …] | affected [COMMIT]] [--update-timings]",
  );
  return process.exit(2);
}

function selectAffected(): Selection {
  const { changed, unit, files } = findAffected(
    words[0] ?? "HEAD",
    UNIT_PATHS,
    findFiles(END_TO_END, []),
  );
  console.log(`${changed.length} files changed; ${unit.length} files of unit tests see that,`);
  console.log(`and ${files.length} of end-to-end tests: ${files.join(" ")}`);
  if (unit.length + files.length === 0) process.exit(0);
  return { unit, files };
}

async function runUnitTests(paths: readonly string[]): Promise<Outcome> {
  console.log("\n== unit tests ==");
  // Files of a process share globals, as they would in a single one.
  const flags = [
    `--parallel=${Math.ceil(UNIT_PROCESSES_PER_CORE * CORES)}`,
    "--no-isolate",
    `--timeout=${UNIT_TIMEOUT_MS}`,
    `--timings=${UNIT_TIMINGS}`,
  ];
  await using postgres = await startMigratedServer();
  // In memory where there is room: they write thousands of small files.
  const dir = createTemporaryDir("shorthop-unit-");
  // PostgreSQL's user must be able to traverse it.
  chmodSync(dir, TRAVERSABLE_MODE);
  const env = { [SHARED_POSTGRES]: postgres.url, TMPDIR: dir };
  try {
    return await runBunTest({ paths, flags, env, output: "inherit" });
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

async function runEndToEnd(selected: readonly string[]): Promise<FileOutcome[]> {
  if (selected.length === 0) return [];
  console.log("\n== end-to-end tests ==");
  const lanes = {
    all: Math.ceil(FILES_PER_CORE * CORES),
    waiting: Math.floor(WAITING_FILES_PER_CORE * CORES),
  };
  return await runFiles(selected, lanes, readRecordedTimes());
}

/**
 * Runs the files of failed tests again, alone, unless they are too many; finds the failures that
 * did not come again.
 */
async function findFlaky(failed: readonly Failure[]): Promise<Failure[]> {
  const again = [...new Set(failed.map(({ file }) => file))].filter((file) =>
    file.endsWith(".test.ts"),
  );
  if (again.length === 0 || again.length > RERUN_FILES_MAX) return [];
  console.log("\n== failed files again, alone ==");
  const outcomes = await runFiles(again, ALONE, readRecordedTimes());
  const left = outcomes.flatMap((outcome) => outcome.failures);
  return failed.filter(
    ({ file }) => again.includes(file) && !left.some((failure) => failure.file === file),
  );
}
