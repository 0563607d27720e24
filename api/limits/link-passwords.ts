/**
 * The budget of passwords that an account sets on its links and shares. Each is hashed, which is
 * expensive by design.
 */
import { createWorkBudget, type WorkBudget } from "./work-budget.ts";

/**
 * Of a free account, and as many times more as other plans have calls. A hash takes about 60 ms of
 * a core, so this is less than a twentieth of one. The most is what a free account may create
 * within an hour, so that only changes have to wait.
 */
export const LINK_PASSWORDS = { perSecond: 0.75, most: 100 };

export const createLinkPasswords = (): WorkBudget =>
  createWorkBudget({ name: "too many passwords set", ...LINK_PASSWORDS });
