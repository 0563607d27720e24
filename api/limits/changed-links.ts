/**
 * The budget of links that an account changes many at once: by a tag, or by a domain's switch of
 * aliases' case.
 */
import { createWorkBudget, type WorkBudget } from "./work-budget.ts";

/**
 * Of a free account, and as many times more as other plans have calls. A changed link takes about
 * 0.1 ms of PostgreSQL, and half as much of the processes that publish and apply it, so this is
 * less than a twentieth of a core; one request may change the most at once.
 */
export const CHANGED_LINKS = { perSecond: 300, most: 10_000 };

export const createChangedLinks = (): WorkBudget =>
  createWorkBudget({ name: "too many links changed at once", ...CHANGED_LINKS });
