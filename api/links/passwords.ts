/** Hashes of the passwords of links. */
import type { Uuid } from "../../shared/ids.ts";

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
