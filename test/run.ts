/**
 * `npm test`: runs all tests, unit tests first, and prints one line with the counts at the end. `bun run test:unit`
 * runs those that need no stack; `bun run test:e2e [name …]` the end-to-end tests, or those whose names contain a word.
 */
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const ROOT = join(import.meta.dir, "..");

/** Timeout of one end-to-end test, which may start several stacks on a machine that is six times slower than ours. */
const TEST_TIMEOUT_MS = 900_000;

/** Timeout of one unit test: it needs no stack, so one that takes longer hangs. */
const UNIT_TIMEOUT_MS = 180_000;

/**
 * Files of end-to-end tests that run at a time. A stack waits half of the time: for elections, leases, time-outs. With
 * three, some pages of the dashboard took longer than tests wait.
 */
const E2E_FILES_AT_ONCE = 2;

/** These take minutes, so they start first: the last file to end should be a short one. */
const LONG_E2E_FILES = ["chaos", "accessibility", "batches", "cluster", "lifecycle", "access"];

/**
 * Files with failed tests that are run once more, alone, when all others have ended: on a busy machine a test may fail
 * for want of time. One that passes then is listed as flaky, which is a fault to mend; more of them are no coincidence.
 */
const RERUN_FILES_MAX = 3;

const UNIT_PATHS = [
  "shared",
  "api",
  "clients",
  "dashboard",
  "redirector",
  "worker",
  "deploy",
  "test/architecture.test.ts",
  "test/hostile",
  "test/http-corpus",
];

/** The outcome of one `bun test`. */
interface Outcome {
  tests: number;
  skipped: number;
  failures: Failure[];
}

/** A failed test, or a file that could not be run (`test` says why). As text, for people. */
interface Failure {
  file: string;
  test: string;
  message: string;
}

const [word, ...wanted] = process.argv.slice(2);
if (word !== undefined && word !== "unit" && word !== "e2e") {
  console.error("Usage: bun test/run.ts [unit | e2e [FILE …]]");
  process.exit(2);
}

const reports = mkdtempSync(join(tmpdir(), "shorthop-reports-"));
let runs = 0;
const outcomes: Outcome[] = [];
if (word !== "e2e") outcomes.push(await runUnitTests());
if (word !== "unit") outcomes.push(...(await runFiles(findE2eFiles(wanted), E2E_FILES_AT_ONCE)));

const failures = outcomes.flatMap((outcome) => outcome.failures);
const flaky = await findFlaky(failures);
rmSync(reports, { recursive: true });

const sum = (numbers: number[]) => numbers.reduce((total, n) => total + n, 0);
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

async function runUnitTests(): Promise<Outcome> {
  console.log("\n== unit tests ==");
  // One process per core; files in it share globals, as they would in a single process.
  const flags = ["--parallel", "--no-isolate", `--timeout=${UNIT_TIMEOUT_MS}`];
  return await runBun(UNIT_PATHS, flags, "inherit");
}

/** Finds the files of end-to-end tests whose paths contain one of the words, or all; exits if there are none. */
function findE2eFiles(words: readonly string[]): string[] {
  const names = words.map((part) => part.replace(/^\.\//, ""));
  const files = [...new Bun.Glob("test/e2e/**/*.test.ts").scanSync(ROOT)]
    .filter((file) => names.length === 0 || names.some((name) => file.includes(name)))
    .toSorted();
  if (files.length === 0) {
    console.error(`No test file matches ${words.join(" or ")}.`);
    process.exit(2);
  }
  return [...files.filter(isLong), ...files.filter((file) => !isLong(file))];
}

function isLong(file: string): boolean {
  return LONG_E2E_FILES.some((name) => file.endsWith(`/${name}.test.ts`));
}

/** Runs each file in a process of its own, so many at a time, and prints what each printed when it has ended. */
async function runFiles(files: readonly string[], atOnce: number): Promise<Outcome[]> {
  console.log("\n== end-to-end tests ==");
  const waiting = [...files];
  const results: Outcome[] = [];
  const runNext = async (): Promise<void> => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      const path = join(reports, `${++runs}.log`);
      const output = openSync(path, "w");
      results.push(await runBun([file], [`--timeout=${TEST_TIMEOUT_MS}`], output));
      closeSync(output);
      console.log(readFileSync(path, "utf8"));
    }
  };
  await Promise.all(Array.from({ length: atOnce }, runNext));
  return results;
}

/** Runs the files of failed tests again, alone, unless they are too many; finds the failures that did not come again. */
async function findFlaky(failed: readonly Failure[]): Promise<Failure[]> {
  const files = [...new Set(failed.map(({ file }) => file))].filter((file) =>
    file.endsWith(".test.ts"),
  );
  if (files.length === 0 || files.length > RERUN_FILES_MAX) return [];
  console.log("\n== failed files again, alone ==");
  const again = (await runFiles(files, 1)).flatMap((outcome) => outcome.failures);
  return failed.filter(
    ({ file }) => files.includes(file) && !again.some((failure) => failure.file === file),
  );
}

/** Runs `bun test` on paths. Its output goes where `output` says: a file descriptor, or this process's own. */
async function runBun(
  paths: readonly string[],
  flags: readonly string[],
  output: number | "inherit",
): Promise<Outcome> {
  const report = join(reports, `${++runs}.xml`);
  const files = paths.map((path) => `./${path}`);
  const child = Bun.spawn(
    [
      process.execPath,
      "test",
      ...flags,
      "--reporter=junit",
      `--reporter-outfile=${report}`,
      ...files,
    ],
    { cwd: ROOT, stdio: ["ignore", output, output] },
  );
  const code = await child.exited;
  const outcome = readReport(report);
  // A file that fails to load has no failed test in the report.
  if (code !== 0 && outcome.failures.length === 0) {
    outcome.tests++;
    outcome.failures.push({
      file: paths.length === 1 ? String(paths[0]) : "unit tests",
      test: `exit code ${code}`,
      message: "no failed test: see above",
    });
  }
  return outcome;
}

/** Reads the totals of a JUnit report from its outermost element, and its failed tests. */
function readReport(path: string): Outcome {
  let text = "";
  try {
    text = readFileSync(path, "utf8");
  } catch {
    // No report means that no test ran; the exit code says so too.
  }
  const [element = ""] = /<testsuites [^>]*>/.exec(text) ?? [];
  return {
    tests: Number(attribute(element, "tests") ?? 0),
    skipped: Number(attribute(element, "skipped") ?? 0),
    failures: [...text.matchAll(/<testcase ([^>]*)>\s*<failure ([^>]*)>/g)].map(
      ([, test = "", failure = ""]) => ({
        file: attribute(test, "file") ?? "?",
        test: attribute(test, "name") ?? "?",
        message: attribute(failure, "message")?.split("&#10;")[0] ?? "",
      }),
    ),
  };
}

/** The text of an attribute of an XML tag. */
function attribute(tag: string, name: string): string | undefined {
  return new RegExp(`(?:^| )${name}="([^"]*)"`).exec(tag)?.[1];
}
