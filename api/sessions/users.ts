/** Users of the dashboard: creating and deleting them, and setting their passwords. */
import * as z from "zod";

import type { Uuid } from "../../shared/ids.ts";
import { ApiError } from "../http/errors.ts";
import type { Sql, Transaction } from "../postgres.ts";
import type { AuthLibrary } from "./better-auth.ts";
import type { RequireStrongPassword } from "./password-strength.ts";
import {
  deleteUsers,
  findUserByEmail,
  isEmailVerified,
  listUsers,
  listUsersOfAddress,
  markEmailVerified,
  releaseAddress,
} from "./sql.ts";

export type NewUser = { email: string; name: string; password: string };

export type UserService = ReturnType<typeof createUserService>;

type UserServiceDeps = {
  sql: Sql;
  library: AuthLibrary;
  requireStrongPassword: RequireStrongPassword;
};

export function createUserService({ sql, library, requireStrongPassword }: UserServiceDeps) {
  const findByEmail = (email: string): Promise<Uuid | undefined> => findUserByEmail(sql, email);

  /**
   * Creates a user. An unverified user of the address gives it up but remains. Throws
   * `invalid_request` when the address belongs to a verified user, or when the password is too
   * weak.
   */
  async function create({ email, name, password }: NewUser): Promise<Uuid> {
    requireStrongPassword(password, [email, name]);
    await releaseAddress(sql, email);
    const body = { email: email.toLowerCase(), name, password };
    const created = await library.api.signUpEmail({ body }).catch((error: unknown) => error);
    const found = await findByEmail(email);
    // For a known address the library responds as if it had created a user, so as not to reveal who
    // is registered; of two concurrent creations one fails.
    if (found !== undefined && found !== parseUserId(created)) {
      throw new ApiError("invalid_request", "There is somebody with this e-mail address.");
    }
    if (found === undefined) throw created;
    return found;
  }

  /** Finds the unverified user of an address who has this password. */
  async function findByPassword(email: string, password: string): Promise<Uuid | undefined> {
    const context = await library.$context;
    for (const { id, email_verified, password_hash } of await listUsersOfAddress(sql, email)) {
      if (email_verified || password_hash === null) continue;
      if (await context.password.verify({ hash: password_hash, password })) return id;
    }
    return undefined;
  }

  return {
    findByEmail,
    create,

    /** Whether a verified user has the e-mail address. */
    async hasVerified(email: string): Promise<boolean> {
      return (await listUsersOfAddress(sql, email)).some((user) => user.email_verified);
    },

    /**
     * Finds the invited user of an address by password, or creates one; throws as `create`. A
     * password that is too weak for a new user is not compared; one that matches nobody becomes the
     * new user's.
     */
    async findOrCreate(user: NewUser): Promise<Uuid> {
      requireStrongPassword(user.password, [user.email, user.name]);
      return (await findByPassword(user.email, user.password)) ?? (await create(user));
    },

    /** Records that the e-mail address belongs to the user, as an operator confirms. */
    markVerified: (id: Uuid): Promise<void> => markEmailVerified(sql, id),

    /** Whether the user's e-mail address is verified; an invitation does not verify it. */
    isVerified: (id: Uuid): Promise<boolean> => isEmailVerified(sql, id),

    /**
     * Sets a new password and ends every session. Returns false when there is no such user; throws
     * as `create`.
     */
    async setPassword(email: string, password: string): Promise<boolean> {
      requireStrongPassword(password, [email]);
      const id = await findByEmail(email);
      if (id === undefined) return false;
      const context = await library.$context;
      await context.internalAdapter.updatePassword(id, await context.password.hash(password));
      await context.internalAdapter.deleteUserSessions(id);
      return true;
    },

    /**
     * Deletes the users of an address, with their sessions and memberships, which the caller
     * records. Returns false when there are none.
     */
    remove: (transaction: Transaction, email: string): Promise<boolean> =>
      deleteUsers(transaction, email),

    /** Lists all users, with the accounts they are members of. */
    list: () => listUsers(sql),
  };
}

const createdSchema = z.object({ user: z.object({ id: z.string() }) });

const parseUserId = (created: unknown): Uuid | undefined =>
  createdSchema.safeParse(created).data?.user.id;
