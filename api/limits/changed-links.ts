/**
 * The budget of links that an account changes many at once: by a tag, or by a domain's switch of
 * aliases' case.
 */
import { createWorkBudget, type WorkBudget } from "./work-budget.ts";

/**
 * Of a free account, and as many times more as other plans have calls. A changed link takes up to
 * 0.33 ms of PostgreSQL with what follows from it (vacuum), so this is less than a twentieth of a
 * core; one request may change the most at once.
 */
export const CHANGED_LINKS = { perSecond: 140, most: 10_000 };

export const createChangedLinks = (): WorkBudget =>
  createWorkBudget({ name: "too many links changed at once", ...CHANGED_LINKS });
