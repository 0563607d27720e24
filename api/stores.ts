/** The app's PostgreSQL queries as functions, so that a test can run the app without a database. */
import { authorizeAll, type BatchResult } from "./auth/authorize.ts";
import type { RequestGroup } from "./auth/sql.ts";
import { isClickHouseUnavailable } from "./clickhouse.ts";
import type { AccountScope } from "./http/principal.ts";
import type { LimitWindow } from "./http/rate-limit.ts";
import { createIdempotencyStore, type IdempotencyStore } from "./idempotency/sql.ts";
import type { QuotaState } from "./limits/quotas.ts";
import { listQuotas, listWindows } from "./limits/sql.ts";
import { isUnavailable, type Sql } from "./postgres.ts";

export type AppStores = {
  /** Authenticates keys and consumes requests from their limits; undefined for an unknown key. */
  authorize(requests: readonly RequestGroup[]): Promise<(BatchResult | undefined)[]>;
  requests: IdempotencyStore;
  /** Lists every rate-limit window of an account and mode; consumes nothing. */
  listWindows(scope: AccountScope): Promise<LimitWindow[]>;
  /** Lists every quota of an account and mode; consumes nothing. */
  listQuotas(scope: AccountScope): Promise<QuotaState[]>;
};

export const createStores = (sql: Sql): AppStores => ({
  authorize: (requests) => authorizeAll(sql, requests),
  requests: createIdempotencyStore(sql),
  listWindows: (scope) => listWindows(sql, scope),
  listQuotas: (scope) => listQuotas(sql, scope),
});

/** Whether an error means that PostgreSQL or ClickHouse is unavailable. */
export const isStoreUnavailable = (error: unknown): boolean =>
  isUnavailable(error) || isClickHouseUnavailable(error);
