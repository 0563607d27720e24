/** A database of its own beside a stack's: two feeds on different NATS servers cannot follow one PostgreSQL. */
import { withDatabase } from "../../shared/postgres.ts";
import type { SharedStack } from "./stack.ts";

/** Makes another database in the stack's PostgreSQL, with the schema; returns the stack with it in place of its own. */
export async function withOwnDatabase(stack: SharedStack, name: string): Promise<SharedStack> {
  const database_url = withDatabase(stack.info().database_url, name);
  const child = Bun.spawn([process.execPath, "api/main.ts", "migrate"], {
    cwd: stack.root,
    env: { ...process.env, DATABASE_URL: database_url },
    stdout: "ignore",
    stderr: "inherit",
  });
  if ((await child.exited) !== 0) throw new Error(`The database ${name} was not made.`);
  return { ...stack, info: () => ({ ...stack.info(), database_url }) };
}
