/** SQL of users' credentials and sessions. */
import type { Uuid } from "../../shared/ids.ts";
import type { Sql, Transaction } from "../postgres.ts";

/**
 * Whether a user's password is still the one that was compared; waits for a change of it that is
 * under way.
 */
export async function isPasswordCurrent(
  sql: Sql,
  { id, password_hash }: Credentials,
): Promise<boolean> {
  const rows = await sql`
    select from credentials
     where user_id = ${id} and provider_id = 'credential' and password = ${password_hash}
       for share`;
  return rows.length > 0;
}

/** Ends the session of a token, if there is one. */
export async function deleteSession(sql: Sql, token = ""): Promise<void> {
  await sql`delete from sessions where token = ${token}`;
}

/** Ends sessions of a user: all, one only, or all except one. Returns how many had not expired. */
export async function endSessions(
  sql: Transaction,
  userId: Uuid,
  { only, except }: { only?: Uuid; except?: Uuid } = {},
): Promise<number> {
  const ended = await sql<{ is_live: boolean }[]>`
    delete from sessions
     where user_id = ${userId} and (${only ?? null}::uuid is null or id = ${only ?? null})
       and id is distinct from ${except ?? null}
    returning expires_at > now() as is_live`;
  return ended.filter(({ is_live }) => is_live).length;
}

export type Credentials = {
  id: Uuid;
  password_hash: string | null;
};

/** Finds the user who has an e-mail address. */
export async function findUserByEmail(sql: Sql, email: string): Promise<Credentials | undefined> {
  const [row] = await sql<Credentials[]>`
    select u.id, (select c.password from credentials c
                   where c.user_id = u.id and c.provider_id = 'credential') as password_hash
      from users u where u.email = ${email.toLowerCase()}`;
  return row;
}
