/** Users of the dashboard: creating and deleting them, and how they sign in. */
import { randomBytes } from "node:crypto";

import * as z from "zod";

import type { Uuid } from "../../shared/ids.ts";
import { recordOfUser } from "../events/record.ts";
import { ApiError } from "../http/errors.ts";
import { OPERATOR } from "../http/principal.ts";
import { PasswordHashing } from "../passwords/hashing.ts";
import type { Sql, Transaction } from "../postgres.ts";
import { AuthLibrary, librarySettings } from "./better-auth.ts";
import { PasswordRules } from "./password-rules.ts";
import { endResets } from "./resets.ts";
import { endSessions, findUserByEmail } from "./sql.ts";

export type LockedUser = { id: Uuid; email_verified: boolean };

export type UserRow = {
  id: Uuid;
  email: string;
  email_verified: boolean;
  name: string;
  created_at: Date;
  account_ids: Uuid[];
};

export type NewUser = { email: string; name: string; password: string };

export class UserService {
  readonly #sql: Sql;
  readonly #library: AuthLibrary;
  readonly #rules: PasswordRules;

  constructor(sql: Sql, library: AuthLibrary, rules: PasswordRules) {
    this.#sql = sql;
    this.#library = library;
    this.#rules = rules;
  }

  /**
   * For operators, who create no sessions: the library gets a placeholder of a URL, and a random
   * secret.
   */
  static forOperators(sql: Sql): UserService {
    const secret = randomBytes(32).toString("hex");
    const options = librarySettings(sql, new PasswordHashing(), "http://localhost", secret);
    const library = new AuthLibrary(options);
    return new UserService(sql, library, new PasswordRules());
  }

  /** Throws `invalid_request` for a password of a new user that is too weak. */
  requireStrong({ email, name, password }: NewUser): void {
    this.#rules.requireStrong(password, [email, name]);
  }

  async findByEmail(email: string): Promise<Uuid | undefined> {
    return (await findUserByEmail(this.#sql, email))?.id;
  }

  /**
   * Creates a user, whose address nobody has proven yet. Throws `invalid_request` when somebody has
   * the address, or when the password is too weak.
   */
  async create({ email, name, password }: NewUser): Promise<Uuid> {
    this.#rules.requireAllowed(email);
    this.#rules.requireStrong(password, [email, name]);
    const body = { email: email.toLowerCase(), name, password };
    const created = await this.#library.api.signUpEmail({ body }).catch((error: unknown) => error);
    const found = await findUserByEmail(this.#sql, email);
    // For a known address the library responds as if it had created a user, so as not to reveal who
    // is registered; of two concurrent creations one fails.
    if (found !== undefined && found.id !== parseUserId(created)) throw addressTaken();
    if (found === undefined) throw created;
    return found.id;
  }

  /** Records that the e-mail address belongs to the user, as an operator confirms. */
  async markVerified(id: Uuid): Promise<void> {
    await this.#sql`update users set email_verified = true where id = ${id}`;
  }

  /** Whether the user's e-mail address is verified; an invitation does not verify it. */
  async isVerified(id: Uuid): Promise<boolean> {
    const { count } = await this.#sql`select from users where id = ${id} and email_verified`;
    return count === 1;
  }

  /**
   * Sets a new password and ends every session; a user who has signed in with a provider signs in
   * with the password instead. Returns false when there is no such user; throws as `create`.
   */
  async setPassword(email: string, password: string): Promise<boolean> {
    this.#rules.requireStrong(password, [email]);
    const user = await findUserByEmail(this.#sql, email);
    if (user === undefined) return false;
    const { internalAdapter, password: passwords } = await this.#library.context;
    const hash = await passwords.hash(password);
    if (user.password_hash === null) await this.#makeLocal(user.id, hash);
    else await internalAdapter.updatePassword(user.id, hash);
    await this.#sql.begin(async (sql) => {
      await endSessions(sql, user.id);
      await endResets(sql, user.id);
      await recordOfUser(sql, user.id, OPERATOR, "user.password_changed");
    });
    return true;
  }

  async #makeLocal(userId: Uuid, hash: string): Promise<void> {
    const { internalAdapter } = await this.#library.context;
    await internalAdapter.deleteAccounts(userId);
    await internalAdapter.linkAccount({
      userId,
      providerId: "credential",
      accountId: userId,
      password: hash,
    });
  }

  /**
   * Removes the second factor of the user of an address, and ends their sessions. Returns false
   * when there is no such user, or they have none.
   */
  async removeSecondFactor(email: string): Promise<boolean> {
    return await this.#sql.begin(async (sql) => {
      const user = await this.lock(sql, email);
      if (user === undefined) return false;
      const { count } = await sql`
        update users set has_second_factor = false where id = ${user.id} and has_second_factor`;
      await sql`delete from second_factors where user_id = ${user.id}`;
      if (count === 0) return false;
      await endSessions(sql, user.id);
      await recordOfUser(sql, user.id, OPERATOR, "user.second_factor_changed", {
        change: "removed",
      });
      return true;
    });
  }

  /** Finds the user who has an e-mail address, and locks them until the transaction ends. */
  async lock(sql: Transaction, email: string): Promise<LockedUser | undefined> {
    const [row] = await sql<LockedUser[]>`
      select id, email_verified from users where email = ${email.toLowerCase()} for update`;
    return row;
  }

  /** Deletes a user, with their sessions and memberships, which the caller records. */
  async remove(sql: Transaction, id: Uuid): Promise<void> {
    await sql`delete from users where id = ${id}`;
  }

  /** How many refused sign-ins there were with addresses that nobody has, by day. */
  listUnknownSignIns(): Promise<{ day: string; count: number }[]> {
    return this.#sql<{ day: string; count: number }[]>`
      select day::text as day, count::float8 as count from unknown_sign_ins
       order by unknown_sign_ins.day desc limit 31`;
  }

  list(): Promise<UserRow[]> {
    return this.#sql<UserRow[]>`
      select u.id, u.email, u.email_verified, u.name, u.created_at,
             array(select m.account_id from members m where m.user_id = u.id order by 1) as account_ids
        from users u order by u.created_at, u.id`;
  }
}

/** For somebody without the session of the user who has the address. */
export const addressTaken = (): ApiError =>
  new ApiError("invalid_request", "There is somebody with this e-mail address.");

const createdSchema = z.object({ user: z.object({ id: z.string() }) });

const parseUserId = (created: unknown): Uuid | undefined =>
  createdSchema.safeParse(created).data?.user.id;
