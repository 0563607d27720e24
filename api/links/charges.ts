/** What requests that write links take from the account's budgets. */
import type { Writer } from "../http/principal.ts";
import { budgets } from "../limits/budgets.ts";
import { type Failure, isFailure, type LinkResults } from "./results.ts";

/** Throws `rate_limited` while nothing is left of what the account may write. */
export function requireWriting(owner: Writer): void {
  budgets.require(owner, "changed_links");
  budgets.require(owner, "ledger_bytes");
}

/**
 * Takes the passwords that a request sets from the account's budget. Throws `rate_limited` when
 * nothing is left of it.
 */
export function chargePasswords(
  owner: Writer,
  rows: readonly ({ body: { password?: string | null | undefined } } | Failure)[],
): void {
  const set = rows.filter((row) => !isFailure(row) && typeof row.body.password === "string");
  if (set.length > 0) budgets.take(owner, "link_passwords", set.length);
}

/**
 * Takes the rows of a bulk creation before it begins, and gives back those that created no link.
 * Throws `rate_limited` while nothing is left of the budget.
 */
export async function chargeRows(
  owner: Writer,
  rows: number,
  create: () => Promise<LinkResults>,
): Promise<LinkResults> {
  const settle = budgets.reserve(owner, "bulk_rows", rows);
  let created = 0;
  try {
    const outcome = await create();
    created = outcome.results.filter((result) => !isFailure(result)).length;
    return outcome;
  } finally {
    settle(created);
  }
}
