/** PostgreSQL as the sites use it for their callers. Tests of the sites have it in memory. */
import type { KeyStore } from "./auth/authorizer.ts";
import { authorizeAll, type BatchResult, type RequestGroup } from "./auth/sql.ts";
import type { AccountScope } from "./http/principal.ts";
import { PostgresRequests } from "./idempotency/idempotency.ts";
import type { QuotaState } from "./limits/quotas.ts";
import type { LimitWindow } from "./limits/windows.ts";
import type { Sql } from "./postgres.ts";

export interface Stores extends KeyStore {
  readonly requests: PostgresRequests;
  /** Lists every rate-limit window of an account and mode, the plan's first; consumes nothing. */
  listWindows(scope: AccountScope): Promise<LimitWindow[]>;
  /** Lists every quota of an account and mode; consumes nothing. */
  listQuotas(scope: AccountScope): Promise<QuotaState[]>;
}

export class PostgresStores implements Stores {
  readonly #sql: Sql;
  readonly requests: PostgresRequests;

  constructor(sql: Sql) {
    this.#sql = sql;
    this.requests = new PostgresRequests(sql);
  }

  authorize(requests: readonly RequestGroup[]): Promise<(BatchResult | undefined)[]> {
    return authorizeAll(this.#sql, requests);
  }

  listWindows({ accountId, mode }: AccountScope): Promise<LimitWindow[]> {
    return this.#sql<LimitWindow[]>`
      select name, allowed as "limit", seconds, spent, resets_ms as "resetsAt"
        from rate_limits_of(${accountId}, ${mode})`;
  }

  listQuotas({ accountId, mode }: AccountScope): Promise<QuotaState[]> {
    return this.#sql<QuotaState[]>`
      select name, allowed as "limit", used, seconds, resets_ms as "resetsAt"
        from quotas_of(${accountId}, ${mode})`;
  }
}
