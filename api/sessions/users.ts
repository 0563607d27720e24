/** People who can sign in: making them, and giving them a new password. */
import * as z from "zod";

import type { Uuid } from "../../shared/ids.ts";
import { ApiError } from "../http/errors.ts";
import type { Sql } from "../postgres.ts";
import type { AuthLibrary } from "./library.ts";

export type NewUser = { email: string; name: string; password: string };

export type UserService = ReturnType<typeof createUserService>;

export function createUserService({ sql, library }: { sql: Sql; library: AuthLibrary }) {
  async function findByEmail(email: string): Promise<Uuid | undefined> {
    const [row] = await sql<
      { id: Uuid }[]
    >`select id from users where email = ${email.toLowerCase()}`;
    return row?.id;
  }

  return {
    findByEmail,

    /** Throws `invalid_request` when the address is somebody's already. */
    async create({ email, name, password }: NewUser): Promise<Uuid> {
      const body = { email: email.toLowerCase(), name, password };
      const made = await library.api.signUpEmail({ body }).catch((error: unknown) => error);
      const found = await findByEmail(email);
      // The library answers as if it had made somebody new, so that nobody finds out who is here; of two
      // who are made at once it fails for one.
      if (found !== undefined && found !== userIdOf(made)) {
        throw new ApiError("invalid_request", "There is somebody with this e-mail address.");
      }
      if (found === undefined) throw made;
      return found;
    },

    /** Gives a new password and ends every session. False when there is no such person. */
    async setPassword(email: string, password: string): Promise<boolean> {
      const id = await findByEmail(email);
      if (id === undefined) return false;
      const context = await library.$context;
      await context.internalAdapter.updatePassword(id, await context.password.hash(password));
      await context.internalAdapter.deleteUserSessions(id);
      return true;
    },

    /** Removes a person, with their sessions and memberships. False when there is none. */
    async remove(email: string): Promise<boolean> {
      const rows = await sql`delete from users where email = ${email.toLowerCase()} returning id`;
      return rows.length === 1;
    },

    /** Everybody, with the accounts they belong to. */
    list: () =>
      sql<{ id: Uuid; email: string; name: string; created_at: Date; account_ids: Uuid[] }[]>`
        select u.id, u.email, u.name, u.created_at,
               array(select m.account_id from members m where m.user_id = u.id order by 1) as account_ids
          from users u order by u.created_at, u.id`,
  };
}

const madeSchema = z.object({ user: z.object({ id: z.string() }) });

const userIdOf = (made: unknown): Uuid | undefined => madeSchema.safeParse(made).data?.user.id;
