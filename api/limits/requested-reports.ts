/** How many reports an account may request: each reads statistics, and can mail many people. */
import { createWorkBudget, type WorkBudget } from "./work-budget.ts";

/** A free account's reports at once, and per second: ten an hour. */
const REQUESTED_REPORTS = { most: 10, perSecond: 10 / 3_600 };

export const createRequestedReports = (): WorkBudget =>
  createWorkBudget({ name: "too many reports requested", ...REQUESTED_REPORTS });
