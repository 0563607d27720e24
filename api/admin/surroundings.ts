/** Where the command line finds what it works on. */
import { join } from "node:path";

import * as z from "zod";

const stackFile = z.record(z.string(), z.unknown());

type Env = Record<string, string | undefined>;

type Variable = "DATABASE_URL" | "NATS_URL" | "CLICKHOUSE_URL" | "REDIRECTOR_METRICS_URL";

/**
 * The variable when set, else what the running local stack says under its name in lower case. Throws,
 * with what to do, when neither is there.
 */
export async function findUrl(env: Env, variable: Variable): Promise<string> {
  const set = env[variable] ?? "";
  if (set !== "") return set;
  const root = join(import.meta.dir, "../..");
  const path = join(env["SHORTHOP_DATA_DIR"] ?? join(root, ".local"), "stack.json");
  const file = Bun.file(path);
  if (!(await file.exists())) {
    throw new Error(`Set ${variable}, or start the local stack (${path} does not exist).`);
  }
  return z.string().parse(stackFile.parse(await file.json())[variable.toLowerCase()]);
}
