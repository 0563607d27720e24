/** Finds the URLs of the stores and processes that the command line works on. */
import { join } from "node:path";

import * as z from "zod";

const stackFile = z.record(z.string(), z.unknown());

type Env = Record<string, string | undefined>;

type Variable = "DATABASE_URL" | "NATS_URL" | "CLICKHOUSE_URL" | "REDIRECTOR_METRICS_URL";

/**
 * Returns the environment variable if set, else the URL from the running local stack (`stack.json`, under the
 * variable's name in lower case). Throws an error that says what to do if there is neither.
 */
export async function findUrl(env: Env, variable: Variable): Promise<string> {
  const value = env[variable] ?? "";
  if (value !== "") return value;
  const root = join(import.meta.dir, "../..");
  const path = join(env["SHORTHOP_DATA_DIR"] ?? join(root, ".local"), "stack.json");
  const file = Bun.file(path);
  if (!(await file.exists())) {
    throw new Error(`Set ${variable}, or start the local stack (${path} does not exist).`);
  }
  return z.string().parse(stackFile.parse(await file.json())[variable.toLowerCase()]);
}
