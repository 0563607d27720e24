/** The budget of rules that an account tries on clicks (`POST /v1/links/{id}/backtest`). */
import { createWorkBudget, type WorkBudget } from "./work-budget.ts";

/**
 * In conditions tried on a click, each of which takes about 30 ns of the API. Of a free account,
 * and as many times more as other plans have calls: less than a twentieth of a core. Four requests
 * at their bounds use up the most.
 */
export const TRIED_RULES = { perSecond: 1_600_000, most: 60_000_000 };

/** To read a click takes ClickHouse as long as so many conditions take the API. */
const READ_CONDITIONS = 100;

export const createTriedRules = (): WorkBudget =>
  createWorkBudget({ name: "too many rules tried on clicks", ...TRIED_RULES });

/** The work of trying so many conditions on so many clicks. */
export const triedRules = (clicks: number, conditions: number): number =>
  clicks * (READ_CONDITIONS + conditions);
