/** Passwords of links: the account's budget of them, and their hashes. */
import type { Uuid } from "../../shared/ids.ts";
import type { Writer } from "../http/principal.ts";
import type { PasswordHashing } from "../passwords/hashing.ts";
import { type Failure, isFailure } from "./results.ts";

/**
 * Takes the passwords that a request sets from the account's budget. Throws `rate_limited` when
 * nothing is left of it.
 */
export function chargePasswords(
  { chargeForLinks }: Pick<PasswordHashing, "chargeForLinks">,
  owner: Writer,
  rows: readonly ({ body: { password?: string | null | undefined } } | Failure)[],
): void {
  const set = rows.filter((row) => !isFailure(row) && typeof row.body.password === "string");
  chargeForLinks(owner, set.length);
}

/**
 * Hashes a link's password; null for no password. Throws `unavailable` when the hashing queue is
 * full.
 */
export const hashLinkPassword = async (
  { hashForLink }: Pick<PasswordHashing, "hashForLink">,
  accountId: Uuid,
  password: string | null | undefined,
): Promise<string | null> =>
  password === null || password === undefined ? null : await hashForLink(accountId, password);
