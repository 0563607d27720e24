/** Connections of a worker to PostgreSQL. Each part has its own, so that none waits for another. */
import type postgres from "postgres";

import type { Lifecycle } from "../shared/lifecycle.ts";
import { openPrimary } from "../shared/postgres.ts";

type PostgresOptions = {
  /** The part of the worker, for its log. */
  part: string;
  /** The name that PostgreSQL shows for the connections. */
  name: string;
  max: number;
  idleTimeoutSeconds?: number;
  /** Longest time of a statement; unlimited if left out. */
  statementTimeoutMs?: number;
};

/** Opens connections on demand, at most `max`, which are closed when the worker stops. */
export function openPostgres(
  url: string,
  lifecycle: Lifecycle,
  { part, name, max, idleTimeoutSeconds, statementTimeoutMs }: PostgresOptions,
): postgres.Sql {
  const sql = openPrimary(url, {
    max,
    connect_timeout: 2,
    ...(idleTimeoutSeconds === undefined ? {} : { idle_timeout: idleTimeoutSeconds }),
    backoff: () => 1,
    onnotice: () => undefined,
    connection: {
      application_name: name,
      ...(statementTimeoutMs === undefined ? {} : { statement_timeout: statementTimeoutMs }),
    },
  });
  lifecycle.onStop(part, () => sql.end({ timeout: 2 }));
  return sql;
}
