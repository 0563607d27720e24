/**
 * Whether a process could start where it is: its configuration is valid, and what it needs can be reached.
 * Prints a line for each, and says by the exit code whether all is well.
 */
import type * as z from "zod";

import { ConfigError, loadConfig } from "./env.ts";

/** What a process needs, by the name of its variable; each throws when it cannot be reached. */
export type Probes = Record<string, () => Promise<unknown>>;

const PROBE_MS = 5_000;

/** Checks, prints, and gives the exit code: 0, or 1 when something is wrong. */
export async function checkConfig<Schema extends z.ZodType>(
  schema: Schema,
  env: Record<string, string | undefined>,
  probesOf: (config: z.output<Schema>) => Probes,
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
  for (const [name, probe] of Object.entries(probesOf(config))) {
    try {
      await within(PROBE_MS, probe());
      console.log(`ok\t${name}`);
    } catch (error) {
      failed = true;
      console.log(`fails\t${name}\t${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return failed ? 1 : 0;
}

async function within(ms: number, work: Promise<unknown>): Promise<void> {
  const late = Bun.sleep(ms).then(() => {
    throw new Error(`no answer within ${ms} ms`);
  });
  await Promise.race([work, late]);
}
