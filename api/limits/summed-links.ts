/** The budget of links whose clicks an account's lists of tags add up. */
import { createWorkBudget, type WorkBudget } from "./work-budget.ts";

/**
 * Of a free account, and as many times more as other plans have calls. To add up the clicks of a
 * link takes PostgreSQL about 7 µs, so this is less than a twentieth of a core. At once it is as
 * much as ten lists of all tags of as many links as one may sort.
 */
export const SUMMED_LINKS = { perSecond: 5_000, most: 1_000_000 };

export const createSummedLinks = (): WorkBudget =>
  createWorkBudget({ name: "clicks of too many links added up by tag", ...SUMMED_LINKS });
