/** Passwords of links: the account's budget of them, and their hashes. */
import type { Uuid } from "../../shared/ids.ts";
import type { Writer } from "../http/principal.ts";
import { budgets } from "../limits/budgets.ts";
import { type Failure, isFailure } from "./results.ts";

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

/** What hashes the passwords of links. */
export type LinkPasswords = { hashForLink(accountId: Uuid, password: string): Promise<string> };

/**
 * Hashes a link's password; null for no password. Throws `QueueFull` when too many
 * wait.
 */
export const hashLinkPassword = async (
  passwords: LinkPasswords,
  accountId: Uuid,
  password: string | null | undefined,
): Promise<string | null> =>
  password === null || password === undefined
    ? null
    : await passwords.hashForLink(accountId, password);
