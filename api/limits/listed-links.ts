/** The budget of links that an account's lists make PostgreSQL read. */
import { createWorkBudget, type WorkBudget } from "./work-budget.ts";

/**
 * Of a free account, and as many times more as other plans have calls. A link that a list by page
 * matches, counts or passes over takes PostgreSQL up to 6 µs, so this is less than a twentieth of a
 * core.
 */
export const LISTED_LINKS = { perSecond: 6_000, most: 1_000_000 };

/** To add up the clicks of a link takes as long as to list so many. */
export const SUMMED_LINK = 2;

export const createListedLinks = (): WorkBudget =>
  createWorkBudget({ name: "lists that read too many links", ...LISTED_LINKS });
