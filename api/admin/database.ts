/** Which database the command line works on. */
import { join } from "node:path";

import * as z from "zod";

const stackFile = z.object({ database_url: z.string() });

/** `DATABASE_URL` when set, else the running local stack's. Throws, with what to do, when neither is there. */
export async function findDatabaseUrl(env: Record<string, string | undefined>): Promise<string> {
  if (env["DATABASE_URL"] !== undefined && env["DATABASE_URL"] !== "") return env["DATABASE_URL"];
  const root = join(import.meta.dir, "../..");
  const path = join(env["SHORTHOP_DATA_DIR"] ?? join(root, ".local"), "stack.json");
  const file = Bun.file(path);
  if (!(await file.exists())) {
    throw new Error(
      `No database: set DATABASE_URL, or start the local stack (${path} does not exist).`,
    );
  }
  return stackFile.parse(await file.json()).database_url;
}
