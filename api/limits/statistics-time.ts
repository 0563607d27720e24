/** The budget of ClickHouse's time that an account's statistics and single clicks take. */
import type { ClickChunks, ClickHouse } from "../../shared/clicks/query.ts";
import type { MeasuredClickHouse } from "../clickhouse.ts";
import type { AccountScope } from "../http/principal.ts";
import { createWorkBudget, type Worker } from "./work-budget.ts";

/**
 * In milliseconds that ClickHouse works for a free account; as many times more for other plans as
 * they have calls. Its threads take up to two cores for most queries, so this is less than a
 * twentieth of one. An account that has been quiet may use up a quarter of an hour's at once.
 */
export const STATISTICS_TIME = { perSecond: 20, most: 20_000 };

/**
 * Who reads: a caller, who has a plan, or the service itself, whose reading is bounded otherwise.
 */
export type ClicksReader = AccountScope & Partial<Pick<Worker, "plan">>;

/** ClickHouse for a reader; throws `rate_limited` while its account has no time left. */
export type ClickHouseFor = (reader: ClicksReader) => ClickHouse & ClickChunks;

export function createClickHouseFor(clickhouse: MeasuredClickHouse): ClickHouseFor {
  const name = "statistics took too long to compute";
  const budget = createWorkBudget({ name, ...STATISTICS_TIME });
  return ({ accountId, plan }) => {
    if (plan === undefined) return clickhouse;
    const worker = { accountId, plan };
    budget.require(worker);
    return clickhouse.measured((ms) => budget.spend(worker, ms));
  };
}
