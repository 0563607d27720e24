/** What the sites ask PostgreSQL about their callers. Tests of the sites have it in memory. */
import type { KeyStore } from "./auth/authorizer.ts";
import { authorizeAll, type BatchResult, type RequestGroup } from "./auth/sql.ts";
import type { AccountScope } from "./http/principal.ts";
import { type IdempotencyStore, PostgresRequests } from "./idempotency/idempotency.ts";
import type { QuotaState } from "./limits/quotas.ts";
import { listQuotas, listWindows } from "./limits/sql.ts";
import type { LimitWindow } from "./limits/windows.ts";
import type { Sql } from "./postgres.ts";

export interface Stores extends KeyStore {
  readonly requests: IdempotencyStore;
  /** Lists every rate-limit window of an account and mode; consumes nothing. */
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

  listWindows(scope: AccountScope): Promise<LimitWindow[]> {
    return listWindows(this.#sql, scope);
  }

  listQuotas(scope: AccountScope): Promise<QuotaState[]> {
    return listQuotas(this.#sql, scope);
  }
}
