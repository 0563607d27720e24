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

/** That of a run, by its name. */
export type NamedOutcome = Outcome & { name: string };

/** A failed test, or a file that could not be run (`test` says why). As text, for people. */
export type Failure = { file: string; test: string; message: string };

let runs = 0;

/** Runs files, as paths within the project. What is printed goes to a file descriptor. */
export async function runBunTest(
  files: readonly string[],
  flags: readonly string[],
  env: Readonly<Record<string, string>>,
  output: number,
): Promise<Outcome> {
  const report = join(tmpdir(), `shorthop-report-${process.pid}-${++runs}.xml`);
  const startedAt = performance.now();
  const child = Bun.spawn(
    [
      process.execPath,
      "test",
      ...flags,
      "--reporter=junit",
      `--reporter-outfile=${report}`,
      ...files.map((file) => `./${file}`),
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
      file: files.join(" "),
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
