/** Which database and which NATS the command line works on. */
import { join } from "node:path";

import * as z from "zod";

const stackFile = z.object({ database_url: z.string(), nats_url: z.string() });

type Env = Record<string, string | undefined>;

/** `DATABASE_URL` when set, else the running local stack's. Throws, with what to do, when neither is there. */
export const findDatabaseUrl = async (env: Env): Promise<string> =>
  setIn(env, "DATABASE_URL") ?? (await localStack(env, "DATABASE_URL")).database_url;

/** As {@link findDatabaseUrl}, of `NATS_URL`. */
export const findNatsUrl = async (env: Env): Promise<string> =>
  setIn(env, "NATS_URL") ?? (await localStack(env, "NATS_URL")).nats_url;

const setIn = (env: Env, name: string): string | undefined =>
  env[name] === "" ? undefined : env[name];

async function localStack(env: Env, variable: string): Promise<z.output<typeof stackFile>> {
  const root = join(import.meta.dir, "../..");
  const path = join(env["SHORTHOP_DATA_DIR"] ?? join(root, ".local"), "stack.json");
  const file = Bun.file(path);
  if (!(await file.exists())) {
    throw new Error(`Set ${variable}, or start the local stack (${path} does not exist).`);
  }
  return stackFile.parse(await file.json());
}
