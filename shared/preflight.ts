/**
 * Checks of a process before it starts, or of an installation by `shorthop doctor`: is its configuration valid, and are
 * the stores as it needs them? Each check has a finding for each problem, with what to do, or says that it is ok.
 */
import * as z from "zod";

import { ConfigError, loadConfig } from "./env.ts";
import { withTimeout } from "./timeout.ts";

/** What is wrong, in words, and what to do about it. A process works in spite of a warning. */
export type Problem = { status: "warning" | "failed"; detail: string; mend: string };

/** Several are of several things that one check looks at. */
type Outcome = Problem | readonly Problem[] | undefined | void;

export type Check = {
  /** The environment variable that the check is about, or a few words. */
  name: string;
  /** Returns the problems, if there are any; throwing is a failure. */
  run: () => Outcome | Promise<Outcome>;
  /** What to do when it throws. */
  mend: string;
};

export const findingSchema = z.object({
  check: z.string(),
  status: z.enum(["ok", "warning", "failed"]),
  detail: z.string().optional(),
  mend: z.string().optional(),
});

export type Finding = z.output<typeof findingSchema>;

/** Checks of a process by its configuration. */
export type Checks<Config> = {
  /** Whether it can start. */
  required: (config: Config) => Check[];
  /** Whether it is set up as it should be, for `shorthop doctor`. */
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

/** Some errors only have a code, such as those of several attempts to connect. */
const messageOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  return error.message || ("code" in error ? String(error.code) : error.name);
};

/** Loads a configuration and runs its checks; an invalid one is the only finding. */
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

/** The commands of a process that check it: `check` prints lines, `doctor` prints JSON for the command line. */
export function createCheckCommands<Schema extends z.ZodObject>(
  schema: Schema,
  env: Record<string, string | undefined>,
  { required, thorough = () => [] }: Checks<z.output<Schema>>,
) {
  return {
    // Both exit without closing what the checks opened.
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

/** 1 when a check failed; warnings are none. */
export const exitCodeOf = (findings: readonly Finding[]): number =>
  findings.some(({ status }) => status === "failed") ? 1 : 0;

/** A line with status, check and detail, and one below it with what to do. */
export const formatFinding = ({ check, status, detail, mend }: Finding): string =>
  [
    [status, check, ...(detail === undefined ? [] : [detail])].join("\t"),
    ...(mend === undefined ? [] : [`\t${mend}`]),
  ].join("\n");
