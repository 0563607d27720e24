/** SQL of users, their sessions, and the limits on password attempts. */
import type { Uuid } from "../../shared/ids.ts";
import type { Sql, Transaction } from "../postgres.ts";

/** Lists where a user is signed in, the most recently seen first. */
export const listSessions = (sql: Sql, userId: Uuid) =>
  sql<{ id: Uuid; user_agent: string | null; created_at: Date; updated_at: Date }[]>`
    select id, user_agent, created_at, updated_at from sessions
     where user_id = ${userId} and expires_at > now()
     order by updated_at desc limit 100`;

/**
 * Whether a session is valid, its user is a member of the account, and the account is not suspended
 * by an operator.
 */
export async function isSessionAlive(sql: Sql, sessionId: Uuid, accountId: Uuid): Promise<boolean> {
  const rows = await sql`
    select 1 from sessions s
      join members m on m.user_id = s.user_id
      join accounts account on account.id = m.account_id
     where s.id = ${sessionId} and s.expires_at > now() and m.account_id = ${accountId}
       and account.suspended_until is distinct from 'infinity'`;
  return rows.length > 0;
}

export async function deleteExpiredSessions(sql: Sql): Promise<void> {
  await sql`delete from sessions where expires_at < now()`;
}

export async function findUserByEmail(sql: Sql, email: string): Promise<Uuid | undefined> {
  const [row] = await sql<{ id: Uuid }[]>`
    select id from users where email = ${email.toLowerCase()}`;
  return row?.id;
}

/** Users per e-mail address whose passwords are compared; any account can add one by invitation. */
const USERS_OF_ADDRESS_MAX = 8;

type UserOfAddress = {
  id: Uuid;
  /** The name by which the authentication library finds the user. */
  login: string;
  email_verified: boolean;
  password_hash: string | null;
};

/**
 * Lists the users of an e-mail address: the verified one, then the member of `account`, then
 * members of other accounts, then the oldest.
 */
export const listUsersOfAddress = (
  sql: Sql,
  email: string,
  account?: Uuid,
): Promise<UserOfAddress[]> =>
  sql<UserOfAddress[]>`
    select u.id, u.email as login, u.email_verified,
           (select c.password from credentials c
             where c.user_id = u.id and c.provider_id = 'credential') as password_hash
      from users u where u.email = ${email.toLowerCase()} or u.address = ${email.toLowerCase()}
     order by u.email_verified desc,
              exists (select 1 from members m where m.user_id = u.id and m.account_id = ${account ?? null}) desc,
              exists (select 1 from members m where m.user_id = u.id) desc, u.created_at, u.id
     limit ${USERS_OF_ADDRESS_MAX}`;

/**
 * Frees an e-mail address for another user. The unverified user that has it keeps password,
 * sessions and memberships.
 */
export async function releaseAddress(sql: Sql, email: string): Promise<void> {
  await sql`
    update users set address = email, email = id::text || '@users.invalid'
     where email = ${email.toLowerCase()} and not email_verified`;
}

export async function markEmailVerified(sql: Sql, id: Uuid): Promise<void> {
  await sql`update users set email_verified = true where id = ${id}`;
}

export async function isEmailVerified(sql: Sql, id: Uuid): Promise<boolean> {
  const rows = await sql`select 1 from users where id = ${id} and email_verified`;
  return rows.length === 1;
}

/**
 * Deletes the users of an address, with their sessions and memberships. Returns false when there
 * are none.
 */
export async function deleteUsers(sql: Transaction, email: string): Promise<boolean> {
  const rows = await sql`
    delete from users where email = ${email.toLowerCase()} or address = ${email.toLowerCase()} returning id`;
  return rows.length > 0;
}

type UserRow = {
  id: Uuid;
  email: string;
  email_verified: boolean;
  name: string;
  created_at: Date;
  account_ids: Uuid[];
};

/** Lists all users, with the accounts they are members of. */
export const listUsers = (sql: Sql) =>
  sql<UserRow[]>`
    select u.id, coalesce(u.address, u.email) as email, u.email_verified, u.name, u.created_at,
           array(select m.account_id from members m where m.user_id = u.id order by 1) as account_ids
      from users u order by u.created_at, u.id`;

type AttemptWindow = { used: number; resets_ms: number; now_ms: number };

/**
 * Consumes an attempt from the window of a key, and opens the window if it is closed. Beyond
 * `limit` it counts one more, so `used > limit` means that the attempt was rejected.
 */
export async function consumeAttempt(
  sql: Sql,
  key: Buffer,
  { limit, seconds }: { limit: number; seconds: number },
): Promise<AttemptWindow> {
  const [row] = await sql<[AttemptWindow]>`
    insert into sign_in_windows as w (key, opened_at, spent)
    values (${key}, clock_timestamp(), 1)
    on conflict (key) do update set
      opened_at = case when w.opened_at > clock_timestamp() - make_interval(secs => ${seconds})
                       then w.opened_at else clock_timestamp() end,
      spent = case when w.opened_at > clock_timestamp() - make_interval(secs => ${seconds})
                   then least(w.spent, ${limit}) + 1 else 1 end
    returning spent as used, extract(epoch from opened_at)::float8 * 1000 + ${seconds * 1_000} as resets_ms,
              extract(epoch from clock_timestamp())::float8 * 1000 as now_ms`;
  return row;
}

/** Refunds one attempt to the window of a key. */
export async function refundAttempt(sql: Sql, key: Buffer): Promise<void> {
  await sql`update sign_in_windows set spent = greatest(spent - 1, 0) where key = ${key}`;
}

/** Deletes the window of a key, which refunds all its attempts. */
export async function deleteAttempts(sql: Sql, key: Buffer): Promise<void> {
  await sql`delete from sign_in_windows where key = ${key}`;
}

/** Deletes windows that closed long ago. */
export async function deleteExpiredAttempts(sql: Sql): Promise<void> {
  await sql`delete from sign_in_windows where opened_at < clock_timestamp() - interval '1 hour'`;
}
