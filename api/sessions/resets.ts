/**
 * Setting a new password without the old one, by a link. Whoever has the link needs nothing else,
 * so it works once and for an hour, and only a hash of its token is stored. Three make one: a mail
 * to the address of the user, an owner of the user's only account, and the operator.
 *
 * The link of a mail is made while the mail is sent: the queue has none.
 */
import { RESET_MINUTES } from "../../shared/contracts/users.ts";
import type { Uuid } from "../../shared/ids.ts";
import { ApiError } from "../http/errors.ts";
import type { Sql, Transaction } from "../postgres.ts";
import { createToken, hashToken } from "../url-tokens.ts";
import type { Attempts } from "./attempts.ts";
import type { RequireStrongPassword } from "./password-strength.ts";
import {
  applyReset,
  deleteResets,
  enqueueResetMail,
  findResetUser,
  insertReset,
  type ResetUser,
} from "./resets-sql.ts";

/** A link that was made; nothing else has its token. */
export type Reset = { token: string; expires_at: Date };

/** The path of the dashboard's page on which a token is used. */
export const resetPath = (token: string): string => `/reset-password/${token}`;

export async function makeReset(sql: Sql | Transaction, userId: Uuid): Promise<Reset> {
  const { token, hash: tokenHash } = createToken();
  const expires_at = await insertReset(sql, { tokenHash, userId, minutes: RESET_MINUTES });
  return { token, expires_at };
}

/** Ends the links of a user. */
export const endResets = (sql: Sql | Transaction, userId: Uuid): Promise<void> =>
  deleteResets(sql, userId);

/** Links of people who have forgotten their password. */
export class PasswordResets {
  readonly #sql: Sql;
  readonly #attempts: Attempts;
  readonly #hash: (password: string) => Promise<string>;
  readonly #requireStrong: RequireStrongPassword;

  constructor(
    sql: Sql,
    attempts: Attempts,
    hash: (password: string) => Promise<string>,
    requireStrong: RequireStrongPassword,
  ) {
    this.#sql = sql;
    this.#attempts = attempts;
    this.#hash = hash;
    this.#requireStrong = requireStrong;
  }

  /**
   * Has a link mailed to the user of an address. Does the same, and takes as long, if nobody has
   * the address. Throws `rate_limited`.
   */
  async request(email: string, language: string): Promise<void> {
    const address = email.toLowerCase();
    await this.#sql.begin(async (sql) => {
      await this.#attempts.consumeReset(sql, address);
      await enqueueResetMail(sql, address, language);
    });
  }

  /** Finds the user of a token; throws `not_found` when it is not valid. */
  async find(token: string): Promise<ResetUser> {
    const user = await findResetUser(this.#sql, hashToken(token));
    if (user === undefined) throw noReset();
    return user;
  }

  /**
   * Sets the password of a token's user, and ends all their sessions. Throws `not_found`, and
   * `invalid_request` for a password that is too weak, with which the token stays valid.
   */
  async use(token: string, password: string): Promise<void> {
    const { email, name } = await this.find(token);
    this.#requireStrong(password, [email, name]);
    const hash = await this.#hash(password);
    // Of two uses at once one finds the token gone.
    const used = await this.#sql.begin((sql) => applyReset(sql, hashToken(token), hash));
    if (!used) throw noReset();
  }
}

const noReset = (): ApiError =>
  new ApiError("not_found", "This link has been used or has expired. Ask for a new one.");
