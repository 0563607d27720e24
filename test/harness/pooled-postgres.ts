/**
 * PostgreSQL behind a pooler in transaction mode, for whole stacks: all of them with
 * `SHORTHOP_TEST_POOLER=1`.
 */
import { findPgbouncer, startPgbouncer } from "./pgbouncer.ts";
import { startPostgres, type TestPostgres } from "./postgres.ts";

export type PooledPostgres = {
  postgres: TestPostgres;
  /** `DATABASE_URL` and `DATABASE_DIRECT_URL`. */
  env: Record<string, string>;
  [Symbol.asyncDispose](): Promise<void>;
};

/** Undefined, with a warning, where there is no PgBouncer. */
export async function startPooledPostgres(): Promise<PooledPostgres | undefined> {
  const program = await findPgbouncer();
  if (program === undefined) return undefined;
  const postgres = await startPostgres();
  const pooler = await startPgbouncer(program, postgres.url);
  return {
    postgres,
    env: { DATABASE_URL: pooler.pooled(postgres.url), DATABASE_DIRECT_URL: postgres.url },
    async [Symbol.asyncDispose]() {
      await pooler[Symbol.asyncDispose]();
      await postgres[Symbol.asyncDispose]();
    },
  };
}
