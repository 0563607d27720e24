/** Runs `bun test` in a process of its own, and reads its report. */
import { readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const ROOT = join(import.meta.dir, "../..");

/** The outcome of one `bun test`. */
export type Outcome = {
  tests: number;
  skipped: number;
  failures: Failure[];
  /** Time until it ended, and CPU time of it and all processes that it waited for. */
  seconds: number;
  cpuSeconds: number;
};

/** That of one file. */
export type FileOutcome = Outcome & { file: string };

/** A failed test, or a file that could not be run (`test` says why). As text, for people. */
export type Failure = { file: string; test: string; message: string };

type BunTestOptions = {
  /** Paths within the project. */
  paths: readonly string[];
  flags: readonly string[];
  env?: Record<string, string>;
  /** Where the output goes: a file descriptor, or this process's own. */
  output: number | "inherit";
};

let runs = 0;

export async function runBunTest({
  paths,
  flags,
  env = {},
  output,
}: BunTestOptions): Promise<Outcome> {
  const report = join(tmpdir(), `shorthop-report-${process.pid}-${++runs}.xml`);
  const startedAt = performance.now();
  const child = Bun.spawn(
    [
      process.execPath,
      "test",
      ...flags,
      "--reporter=junit",
      `--reporter-outfile=${report}`,
      ...paths.map((path) => `./${path}`),
    ],
    { cwd: ROOT, env: { ...process.env, ...env }, stdio: ["ignore", output, output] },
  );
  const code = await child.exited;
  const outcome = {
    ...readReport(report),
    seconds: (performance.now() - startedAt) / 1_000,
    cpuSeconds: Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1_000_000,
  };
  rmSync(report, { force: true });
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
function readReport(path: string): Omit<Outcome, "seconds" | "cpuSeconds"> {
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
