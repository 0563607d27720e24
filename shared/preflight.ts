/**
 * The preflight check of a process: is its configuration valid, and can it reach its dependencies? Prints one line
 * for each, and returns an exit code.
 */
import type * as z from "zod";

import { ConfigError, loadConfig } from "./env.ts";
import { withTimeout } from "./timeout.ts";

/** A check for each dependency, by its environment variable; it throws when the dependency cannot be reached. */
export type Probes = Record<string, () => Promise<unknown>>;

const PROBE_TIMEOUT_MS = 5_000;

/** Runs all checks and prints their results. Returns the exit code: 0, or 1 when a check failed. */
export async function runPreflight<Schema extends z.ZodObject>(
  schema: Schema,
  env: Record<string, string | undefined>,
  createProbes: (config: z.output<Schema>) => Probes,
): Promise<number> {
  let config: z.output<Schema>;
  try {
    config = loadConfig(schema, env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    console.log(error.message);
    return 1;
  }
  console.log("ok\tconfiguration");
  let failed = false;
  for (const [name, probe] of Object.entries(createProbes(config))) {
    try {
      await withTimeout(probe(), PROBE_TIMEOUT_MS);
      console.log(`ok\t${name}`);
    } catch (error) {
      failed = true;
      console.log(`fails\t${name}\t${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return failed ? 1 : 0;
}
