/** SQL of users who sign in with the provider: a row of `credentials` says that they do. */
import type { Uuid } from "../../shared/ids.ts";
import type { Sql } from "../postgres.ts";

/** Better Auth's name of the provider, in `credentials`. */
export const PROVIDER = "oidc";

/**
 * Records that the provider has just vouched for a user, who from now on signs in with it alone:
 * takes away whatever else lets somebody in as them, with the sessions that it has begun.
 */
export async function makeProviderUser(sql: Sql, userId: Uuid): Promise<void> {
  await sql.begin(async (sql) => {
    await sql`
      update credentials set confirmed_at = clock_timestamp(), asked_at = clock_timestamp()
       where user_id = ${userId} and provider_id = ${PROVIDER}`;
    const { count } = await sql`
      delete from credentials where user_id = ${userId} and provider_id = 'credential'`;
    if (count > 0) await sql`delete from sessions where user_id = ${userId}`;
    await sql`delete from second_factors where user_id = ${userId}`;
    await sql`delete from passkeys where user_id = ${userId}`;
    await sql`delete from password_resets where user_id = ${userId}`;
    await sql`
      update users set email_verified = true, has_second_factor = false where id = ${userId}`;
  });
}

/** Whether a user signs in with the provider. */
export async function isProviderUser(sql: Sql, userId: Uuid): Promise<boolean> {
  const rows = await sql`
    select from credentials where user_id = ${userId} and provider_id = ${PROVIDER}`;
  return rows.length > 0;
}

/** A user with a session, of whom the provider is to be asked. */
export type AskedUser = { id: Uuid; user_id: Uuid; has_refresh_token: boolean };

/**
 * Takes users whom the provider has not been asked about for a while; no other process gets them
 * before that has passed again.
 */
export const takeUsersToAsk = (
  sql: Sql,
  { minutes, max }: { minutes: number; max: number },
): Promise<AskedUser[]> => sql<AskedUser[]>`
  update credentials set asked_at = clock_timestamp()
   where id in (
     select id from credentials
      where provider_id = ${PROVIDER} and asked_at < clock_timestamp() - make_interval(mins => ${minutes})
        and exists (select from sessions where sessions.user_id = credentials.user_id)
      order by asked_at limit ${max} for update skip locked)
  returning id, user_id, refresh_token is not null as has_refresh_token`;

/** Records that the provider has vouched for a user again. */
export async function confirmUser(sql: Sql, userId: Uuid): Promise<void> {
  await sql`
    update credentials set confirmed_at = clock_timestamp()
     where user_id = ${userId} and provider_id = ${PROVIDER}`;
}

/** Ends the sessions of a user. */
export async function endSessions(sql: Sql, userId: Uuid): Promise<void> {
  await sql`delete from sessions where user_id = ${userId}`;
}

/** Ends the sessions of users for whom the provider has not vouched for so long. */
export async function endUnconfirmedSessions(sql: Sql, minutes: number): Promise<void> {
  await sql`
    delete from sessions where user_id in (
      select user_id from credentials
       where provider_id = ${PROVIDER}
         and confirmed_at < clock_timestamp() - make_interval(mins => ${minutes}))`;
}

/** Ends the sessions of all users of whom the provider knows nothing, but for one address. */
export async function endLocalSessions(sql: Sql, except: string): Promise<void> {
  await sql`
    delete from sessions where user_id in (
      select id from users
       where email <> ${except}
         and not exists (select from credentials c
                          where c.user_id = users.id and c.provider_id = ${PROVIDER}))`;
}
