/** Users of the dashboard: creating and deleting them, and setting their passwords. */
import * as z from "zod";

import type { Uuid } from "../../shared/ids.ts";
import { ApiError } from "../http/errors.ts";
import type { Sql } from "../postgres.ts";
import type { AuthLibrary } from "./better-auth.ts";
import type { RequireStrongPassword } from "./password-strength.ts";
import {
  deleteUser,
  findUserByEmail,
  isEmailVerified,
  listUsers,
  markEmailVerified,
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

  return {
    findByEmail,

    /** Throws `invalid_request` when a user has the e-mail address already, or the password is too weak. */
    async create({ email, name, password }: NewUser): Promise<Uuid> {
      requireStrongPassword(password, [email, name]);
      const body = { email: email.toLowerCase(), name, password };
      const created = await library.api.signUpEmail({ body }).catch((error: unknown) => error);
      const found = await findByEmail(email);
      // For a known address the library responds as if it had created a user, so as not to reveal who is
      // registered; of two concurrent creations one fails.
      if (found !== undefined && found !== parseUserId(created)) {
        throw new ApiError("invalid_request", "There is somebody with this e-mail address.");
      }
      if (found === undefined) throw created;
      return found;
    },

    /** Records that the e-mail address belongs to the user, on an operator's word. */
    markVerified: (id: Uuid): Promise<void> => markEmailVerified(sql, id),

    /** Whether the e-mail address is verified to be the user's; an invitation verifies nothing. */
    isVerified: (id: Uuid): Promise<boolean> => isEmailVerified(sql, id),

    /** Sets a new password and ends every session. Returns false when there is no such user; throws as `create`. */
    async setPassword(email: string, password: string): Promise<boolean> {
      requireStrongPassword(password, [email]);
      const id = await findByEmail(email);
      if (id === undefined) return false;
      const context = await library.$context;
      await context.internalAdapter.updatePassword(id, await context.password.hash(password));
      await context.internalAdapter.deleteUserSessions(id);
      return true;
    },

    /** Deletes a user, with their sessions and memberships. Returns false when there is no such user. */
    remove: (email: string): Promise<boolean> => deleteUser(sql, email),

    /** Lists all users, with the accounts they are members of. */
    list: () => listUsers(sql),
  };
}

const createdSchema = z.object({ user: z.object({ id: z.string() }) });

const parseUserId = (created: unknown): Uuid | undefined =>
  createdSchema.safeParse(created).data?.user.id;
