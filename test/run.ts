/** `npm test`: every test there is, unit tests first, and one line with the counts at the end. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const ROOT = join(import.meta.dir, "..");

/** Longest time of one test: an end-to-end test may start several stacks. */
const TEST_TIMEOUT_MS = 240_000;

/** One group of files after the other: a stack each is enough for two cores. */
const GROUPS = [
  [
    "unit tests",
    [
      "shared",
      "api",
      "clients",
      "dashboard",
      "redirector",
      "worker",
      "deploy",
      "test/architecture.test.ts",
    ],
  ],
  ["end-to-end tests", ["test/e2e"]],
] as const;

const reports = mkdtempSync(join(tmpdir(), "shorthop-reports-"));
let passed = 0;
let failed = 0;
let skipped = 0;

for (const [name, paths] of GROUPS) {
  console.log(`\n== ${name} ==`);
  const report = join(reports, `${name}.xml`);
  const child = Bun.spawn(
    [
      process.execPath,
      "test",
      `--timeout=${TEST_TIMEOUT_MS}`,
      "--reporter=junit",
      `--reporter-outfile=${report}`,
      ...paths.map((path) => `./${path}`),
    ],
    { cwd: ROOT, stdio: ["ignore", "inherit", "inherit"] },
  );
  const code = await child.exited;
  const counts = readCounts(report);
  passed += counts.tests - counts.failures - counts.skipped;
  failed += counts.failures;
  skipped += counts.skipped;
  // A file that cannot be loaded fails no test of its own.
  if (code !== 0 && counts.failures === 0) failed++;
}
rmSync(reports, { recursive: true });

console.log(`\n${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`);
process.exit(failed === 0 && passed > 0 ? 0 : 1);

/** The totals of a JUnit report, as its outermost element states them. */
function readCounts(path: string): { tests: number; failures: number; skipped: number } {
  let text = "";
  try {
    text = readFileSync(path, "utf8");
  } catch {
    // No report: no test ran, which the exit code tells.
  }
  const [element = ""] = /<testsuites [^>]*>/.exec(text) ?? [];
  const count = (name: string) => Number(new RegExp(` ${name}="(\\d+)"`).exec(element)?.[1] ?? 0);
  return { tests: count("tests"), failures: count("failures"), skipped: count("skipped") };
}
