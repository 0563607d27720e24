/**
 * A database of its own beside a stack's: two logs on different NATS servers cannot follow one.
 */
import { withDatabase } from "../../shared/postgres.ts";
import { runProgram } from "./run-program.ts";
import type { SharedStack } from "./stack.ts";

/** A stack with another database of its PostgreSQL in place of its own. */
const onDatabase = (stack: SharedStack, name: string): SharedStack => ({
  ...stack,
  info() {
    const info = stack.info();
    return { ...info, database_url: withDatabase(info.database_url, name) };
  },
});

/** Makes such a database, with the schema. */
export async function withOwnDatabase(stack: SharedStack, name: string): Promise<SharedStack> {
  const own = onDatabase(stack, name);
  await runProgram(["api", "migrate"], { DATABASE_URL: own.info().database_url }, own.root);
  return own;
}
