/**
 * `npm test`: runs all tests, unit tests first, and prints one line with the counts at the end. `bun run test:unit`
 * runs those that need no stack; `bun run test:e2e [name …]` the end-to-end tests, or those whose names contain a word.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const ROOT = join(import.meta.dir, "..");

/** Timeout of one end-to-end test, which may start several stacks on a machine that is six times slower than ours. */
const TEST_TIMEOUT_MS = 900_000;

/** Timeout of one unit test: it needs no stack, so one that takes longer hangs. */
const UNIT_TIMEOUT_MS = 180_000;

/** Groups of test files, run one after another. */
const GROUPS = [
  {
    word: "unit",
    name: "unit tests",
    timeoutMs: UNIT_TIMEOUT_MS,
    // One process per core; files in it share globals, as they would in a single process.
    flags: ["--parallel", "--no-isolate"],
    shards: 1,
    paths: [
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
    ],
  },
  {
    word: "e2e",
    name: "end-to-end tests",
    timeoutMs: TEST_TIMEOUT_MS,
    flags: [],
    // A stack waits half of the time: for elections, leases, time-outs. Two halves of the files take little more than one;
    // with three parts, some pages of the dashboard took longer than tests wait.
    shards: 2,
    paths: ["test/e2e"],
  },
];

const [word, ...wanted] = process.argv.slice(2);
const groups = word === undefined ? GROUPS : GROUPS.filter((group) => group.word === word);
if (groups.length === 0) {
  console.error("Usage: bun test/run.ts [unit | e2e [FILE …]]");
  process.exit(2);
}

const reports = mkdtempSync(join(tmpdir(), "shorthop-reports-"));
let passed = 0;
let failed = 0;
let skipped = 0;
const failures: string[] = [];

for (const { name, paths, flags, shards, timeoutMs } of groups) {
  console.log(`\n== ${name} ==`);
  const files = (wanted.length === 0 ? paths : filesNamed(paths, wanted)).map(
    (path) => `./${path}`,
  );
  const processes = wanted.length === 0 ? shards : 1;
  await Promise.all(
    Array.from({ length: processes }, async (_, i) => {
      const report = join(reports, `${name} ${i + 1}.xml`);
      const child = Bun.spawn(
        [
          process.execPath,
          "test",
          `--timeout=${timeoutMs}`,
          ...flags,
          ...(processes === 1 ? [] : [`--shard=${i + 1}/${processes}`]),
          "--reporter=junit",
          `--reporter-outfile=${report}`,
          ...files,
        ],
        { cwd: ROOT, stdio: ["ignore", "inherit", "inherit"] },
      );
      const code = await child.exited;
      const counts = readCounts(report);
      passed += counts.tests - counts.failures - counts.skipped;
      failed += counts.failures;
      skipped += counts.skipped;
      failures.push(...counts.failed);
      // A file that fails to load has no failed test in the report.
      if (code !== 0 && counts.failures === 0) {
        failed++;
        failures.push(`${name}: exit code ${code} with no failed test: see above`);
      }
    }),
  );
}
rmSync(reports, { recursive: true });

// Again at the end: what is printed last is what is read first, and all that is kept of a long log.
for (const failure of failures) console.log(`(fail) ${failure}`);
console.log(`\n${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`);
process.exit(failed === 0 && passed > 0 ? 0 : 1);

/** Finds the test files whose paths contain one of the words; exits if there are none. */
function filesNamed(paths: readonly string[], words: readonly string[]): string[] {
  const files = paths
    .flatMap((path) => [...new Bun.Glob(`${path}/**/*.test.ts`).scanSync(ROOT)])
    .filter((file) => words.some((part) => file.includes(part.replace(/^\.\//, ""))));
  if (files.length === 0) {
    console.error(`No test file matches ${words.join(" or ")}.`);
    process.exit(2);
  }
  return files;
}

/** The text of an attribute of an XML tag. */
function attribute(tag: string, name: string): string {
  return new RegExp(`(?:^| )${name}="([^"]*)"`).exec(tag)?.[1] ?? "?";
}

interface Counts {
  tests: number;
  failures: number;
  skipped: number;
  /** File, name and first line of the error of each failed test, as XML text. */
  failed: string[];
}

/** Reads the totals of a JUnit report from its outermost element, and its failed tests. */
function readCounts(path: string): Counts {
  let text = "";
  try {
    text = readFileSync(path, "utf8");
  } catch {
    // No report means that no test ran; the exit code says so too.
  }
  const [element = ""] = /<testsuites [^>]*>/.exec(text) ?? [];
  const count = (name: string) => Number(new RegExp(` ${name}="(\\d+)"`).exec(element)?.[1] ?? 0);
  const failed = [...text.matchAll(/<testcase ([^>]*)>\s*<failure ([^>]*)>/g)].map(
    ([, test = "", failure = ""]) => {
      const message = attribute(failure, "message").split("&#10;")[0] ?? "";
      return `${attribute(test, "file")}: ${attribute(test, "name")}: ${message}`;
    },
  );
  return {
    tests: count("tests"),
    failures: count("failures"),
    skipped: count("skipped"),
    failed,
  };
}
