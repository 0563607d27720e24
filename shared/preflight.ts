/**
 * Checks a process before it starts, or an installation for `shorthop doctor`: whether the
 * configuration is valid, and whether the stores are usable. A check reports each problem with its
 * remedy, or that all is well.
 */
import * as z from "zod";

import { ConfigError, loadConfig } from "./env.ts";
import { withTimeout } from "./timeout.ts";

/** A problem in words, and its remedy. With a warning, the process still works. */
export type Problem = { status: "warning" | "failed"; detail: string; mend: string };

/** The problems that a check found; several if it checks several things. */
type Outcome = Problem | readonly Problem[] | undefined | void;

export type Check = {
  /** The environment variable that is checked, or a few words. */
  name: string;
  /** Returns the problems, if any. An error that it throws is a failure. */
  run: () => Outcome | Promise<Outcome>;
  /** The remedy when `run` throws. */
  mend: string;
};

export const findingSchema = z.object({
  check: z.string(),
  status: z.enum(["ok", "warning", "failed"]),
  detail: z.string().optional(),
  mend: z.string().optional(),
});

export type Finding = z.output<typeof findingSchema>;

/** Returns the checks of a process for its configuration. */
export type Checks<Config> = {
  /** Checks that the process can start. */
  required: (config: Config) => Check[];
  /** Further checks, for `shorthop doctor`. */
  thorough?: (config: Config) => Check[];
};

const CHECK_TIMEOUT_MS = 5_000;

/** Runs one check after another. */
export async function runChecks(checks: readonly Check[]): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const { name, run, mend } of checks) {
    const outcome = await withTimeout(Promise.resolve().then(run), CHECK_TIMEOUT_MS).catch(
      (error: unknown): Problem => ({ status: "failed", detail: messageOf(error), mend }),
    );
    const problems = [outcome ?? []].flat();
    if (problems.length === 0) findings.push({ check: name, status: "ok" });
    findings.push(...problems.map((problem) => ({ check: name, ...problem })));
  }
  return findings;
}

/** Some errors have only a code, such as that of several connection attempts. */
const messageOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  return error.message || ("code" in error ? String(error.code) : error.name);
};

/**
 * Loads a configuration and runs its checks. If the configuration is invalid, that is the only
 * finding.
 */
async function examine<Schema extends z.ZodObject>(
  schema: Schema,
  env: Record<string, string | undefined>,
  createChecks: (config: z.output<Schema>) => Check[],
): Promise<Finding[]> {
  try {
    const config = loadConfig(schema, env);
    return [{ check: "configuration", status: "ok" }, ...(await runChecks(createChecks(config)))];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const mend = "Correct the named variables (docs/configuration.md).";
    return [{ check: "configuration", status: "failed", detail: error.message, mend }];
  }
}

/**
 * The commands of a process that check it: `check` prints lines, `doctor` prints JSON for the
 * command line.
 */
export function createCheckCommands<Schema extends z.ZodObject>(
  schema: Schema,
  env: Record<string, string | undefined>,
  { required, thorough = () => [] }: Checks<z.output<Schema>>,
) {
  return {
    // Both exit without closing the connections of the checks.
    async check(): Promise<void> {
      const findings = await examine(schema, env, required);
      console.log(findings.map(formatFinding).join("\n"));
      process.exit(exitCodeOf(findings));
    },
    async doctor(): Promise<void> {
      const findings = await examine(schema, env, (config) => [
        ...required(config),
        ...thorough(config),
      ]);
      console.log(JSON.stringify(findings));
      process.exit(0);
    },
  };
}

/** The exit code: 1 when a check failed, 0 with only warnings. */
export const exitCodeOf = (findings: readonly Finding[]): number =>
  findings.some(({ status }) => status === "failed") ? 1 : 0;

/** A line with status, check and detail, and a line with the remedy. */
export const formatFinding = ({ check, status, detail, mend }: Finding): string =>
  [
    [status, check, ...(detail === undefined ? [] : [detail])].join("\t"),
    ...(mend === undefined ? [] : [`\t${mend}`]),
  ].join("\n");
