/**
 * SQL of users, their sessions and second factors, the limits on password attempts, and links with
 * which people set a new password.
 */
import type { Uuid } from "../../shared/ids.ts";
import type { Sql, Transaction } from "../postgres.ts";

/** Sessions of a user at once; a further one ends that which was not seen for longest. */
const SESSIONS_MAX = 50;

export type SessionRow = {
  id: Uuid;
  user_agent: string | null;
  created_at: Date;
  updated_at: Date;
};

/** Lists where a user is signed in, the most recently seen first. */
export const listSessions = (sql: Sql, userId: Uuid): Promise<SessionRow[]> =>
  sql<SessionRow[]>`
    select id, user_agent, created_at, updated_at from sessions
     where user_id = ${userId} and expires_at > now()
     order by updated_at desc`;

/** Ends the sessions of a user that are too many. */
export async function endSurplusSessions(sql: Sql, userId: Uuid): Promise<void> {
  await sql`
    delete from sessions where id in (
      select id from sessions where user_id = ${userId}
       order by updated_at desc, created_at desc, id desc offset ${SESSIONS_MAX})`;
}

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

/** Ends sessions of a user: all, one only, or all except one. Returns how many that were. */
export async function endSessions(
  sql: Transaction,
  userId: Uuid,
  { only, except }: { only?: Uuid; except?: Uuid } = {},
): Promise<number> {
  const { count } = await sql`
    delete from sessions
     where user_id = ${userId} and (${only ?? null}::uuid is null or id = ${only ?? null})
       and id is distinct from ${except ?? null}`;
  return count;
}

/** Who has entered the password, and has to send a code with this cookie; undefined for nobody. */
export async function findChallenged(sql: Sql, cookie: string): Promise<Uuid | undefined> {
  const identifier = /two_factor=(2fa-\w{1,100})/.exec(cookie)?.[1] ?? "";
  const [row] = await sql<{ id: Uuid }[]>`
    select users.id from verifications join users on users.id::text = verifications.value
     where identifier = ${identifier}`;
  return row?.id;
}

export async function isSessionValid(sql: Sql, id: Uuid): Promise<boolean> {
  const rows = await sql`select 1 from sessions where id = ${id} and expires_at > now()`;
  return rows.length > 0;
}

/** Deletes sessions that have expired, and sign-ins that were not completed. */
export async function deleteExpiredSessions(sql: Sql): Promise<void> {
  await sql`delete from sessions where expires_at < now()`;
  await sql`delete from verifications where expires_at < now()`;
}

/** Whether a user signs in with a code, too. */
export async function hasSecondFactor(sql: Sql, userId: Uuid): Promise<boolean> {
  const rows = await sql`select from users where id = ${userId} and has_second_factor`;
  return rows.length > 0;
}

/** Removes a user's second factor, and ends their sessions; returns false when they had none. */
export async function removeSecondFactor(sql: Transaction, userId: Uuid): Promise<boolean> {
  const { count } = await sql`
    update users set has_second_factor = false where id = ${userId} and has_second_factor`;
  await sql`delete from second_factors where user_id = ${userId}`;
  if (count > 0) await sql`delete from sessions where user_id = ${userId}`;
  return count > 0;
}

/** What a user signs in with. */
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

export async function markEmailVerified(sql: Sql, id: Uuid): Promise<void> {
  await sql`update users set email_verified = true where id = ${id}`;
}

export async function isEmailVerified(sql: Sql, id: Uuid): Promise<boolean> {
  const rows = await sql`select 1 from users where id = ${id} and email_verified`;
  return rows.length === 1;
}

export type LockedUser = { id: Uuid; email_verified: boolean };

/** Finds the user who has an e-mail address, and locks them until the transaction ends. */
export async function lockUserByEmail(
  sql: Transaction,
  email: string,
): Promise<LockedUser | undefined> {
  const [row] = await sql<LockedUser[]>`
    select id, email_verified from users where email = ${email.toLowerCase()} for update`;
  return row;
}

/** Deletes a user, with their sessions and memberships. */
export async function deleteUser(sql: Transaction, id: Uuid): Promise<void> {
  await sql`delete from users where id = ${id}`;
}

export type UserRow = {
  id: Uuid;
  email: string;
  email_verified: boolean;
  name: string;
  created_at: Date;
  account_ids: Uuid[];
};

/** Lists all users, with the accounts they are members of. */
export const listUsers = (sql: Sql): Promise<UserRow[]> =>
  sql<UserRow[]>`
    select u.id, u.email, u.email_verified, u.name, u.created_at,
           array(select m.account_id from members m where m.user_id = u.id order by 1) as account_ids
      from users u order by u.created_at, u.id`;

/** Counts a sign-in as nobody, by day (UTC): strangers can make any number of them. */
export async function countUnknownSignIn(sql: Transaction): Promise<void> {
  await sql`
    insert into unknown_sign_ins as counted (day, count) values ((now() at time zone 'utc')::date, 1)
    on conflict (day) do update set count = counted.count + 1`;
}

/** How many sign-ins as nobody there were, the newest days first. */
export const listUnknownSignIns = (sql: Sql): Promise<{ day: string; count: number }[]> =>
  sql<{ day: string; count: number }[]>`
    select day::text as day, count::float8 as count from unknown_sign_ins
     order by unknown_sign_ins.day desc limit 31`;

type AttemptWindow = { spent: number; resets_ms: number; now_ms: number };

/**
 * Consumes an attempt from the window of a key, and opens the window if it is closed. Beyond
 * `limit` it counts one more, so `spent > limit` means that the attempt is refused.
 */
export async function consumeAttempt(
  sql: Sql | Transaction,
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
    returning spent, extract(epoch from opened_at)::float8 * 1000 + ${seconds * 1_000} as resets_ms,
              extract(epoch from clock_timestamp())::float8 * 1000 as now_ms`;
  return row;
}

/** Refunds one attempt to the window of a key. */
export async function refundAttempt(sql: Sql, key: Buffer): Promise<void> {
  await sql`update sign_in_windows set spent = greatest(spent - 1, 0) where key = ${key}`;
}

/** Deletes windows that closed long ago, and counts of sign-ins of more than a year ago. */
export async function deleteExpiredAttempts(sql: Sql): Promise<void> {
  await sql`delete from unknown_sign_ins where day < now() - interval '400 days'`;
  await sql`delete from sign_in_windows where opened_at < clock_timestamp() - interval '1 hour'`;
}

/** Most links of a user that are valid at once; the oldest give way. */
const RESETS_MAX = 10;

/** After so long a mail that could not be sent is not sent any more: nobody waits for it. */
const WAITING_MINUTES = 60;

/** Who sets a new password. */
export type ResetUser = { id: Uuid; email: string; name: string };

/**
 * Stores a link by the hash of its token; returns until when it is valid, or undefined for a user
 * without a password.
 */
export async function insertReset(
  sql: Sql | Transaction,
  { tokenHash, userId, minutes }: { tokenHash: Buffer; userId: Uuid; minutes: number },
): Promise<Date | undefined> {
  await sql`
    delete from password_resets where token_hash in (
      select token_hash from password_resets where user_id = ${userId}
       order by created_at desc, token_hash offset ${RESETS_MAX - 1})`;
  const [row] = await sql<{ expires_at: Date }[]>`
    insert into password_resets (token_hash, user_id, expires_at)
    select ${tokenHash}, user_id, clock_timestamp() + make_interval(mins => ${minutes})
      from credentials where user_id = ${userId} and provider_id = 'credential'
    returning expires_at`;
  return row?.expires_at;
}

/** Finds the user of a link that is valid. */
export async function findResetUser(sql: Sql, tokenHash: Buffer): Promise<ResetUser | undefined> {
  const [row] = await sql<ResetUser[]>`
    select users.id, users.email, users.name
      from password_resets reset join users on users.id = reset.user_id
     where reset.token_hash = ${tokenHash} and reset.expires_at > clock_timestamp()`;
  return row;
}

/**
 * Uses a link up, and its user's others with it: sets the password and ends every session. Returns
 * the user; undefined, and changes nothing, when the link is not valid any more.
 */
export async function applyReset(
  sql: Transaction,
  tokenHash: Buffer,
  passwordHash: string,
): Promise<Uuid | undefined> {
  const [used] = await sql<{ user_id: Uuid }[]>`
    delete from password_resets
     where token_hash = ${tokenHash} and expires_at > clock_timestamp()
    returning user_id`;
  if (used === undefined) return undefined;
  const { count } = await sql`
    update credentials set password = ${passwordHash}, updated_at = now()
     where user_id = ${used.user_id} and provider_id = 'credential'`;
  if (count !== 1) throw new Error("The user has no password that could be replaced.");
  await endSessions(sql, used.user_id);
  await deleteResets(sql, used.user_id);
  return used.user_id;
}

/** Deletes a user's links: those made before their password changed, or they joined an account. */
export async function deleteResets(sql: Sql | Transaction, userId: Uuid): Promise<void> {
  await sql`delete from password_resets where user_id = ${userId}`;
}

export async function deleteExpiredResets(sql: Sql): Promise<void> {
  await sql`delete from password_resets where expires_at < clock_timestamp()`;
}

/** Puts a mail with a link into the queue, if somebody has the address, and a password. */
export async function enqueueResetMail(
  sql: Transaction,
  email: string,
  language: string,
): Promise<void> {
  await sql`
    insert into report_mails (id, kind, user_id, language)
    select gen_random_uuid(), 'password_reset', users.id, ${language}
      from users join credentials on user_id = users.id and provider_id = 'credential'
     where email = ${email}`;
}

/** Whether the user of a mail may still expect it. */
export const isExpected = (sql: Sql) => sql`
  (mail.created_at > clock_timestamp() - make_interval(mins => ${WAITING_MINUTES}))`;

export type PasskeyRow = { id: Uuid; name: string; created_at: Date };

/** Lists the passkeys of a user, the oldest first. */
export const listPasskeys = (sql: Sql, userId: Uuid): Promise<PasskeyRow[]> =>
  sql<PasskeyRow[]>`
    select id, name, created_at from passkeys where user_id = ${userId} order by created_at, id`;

/** Deletes a passkey of a user; returns false when there is none. */
export async function deletePasskey(sql: Sql, userId: Uuid, id: Uuid): Promise<boolean> {
  const { count } = await sql`delete from passkeys where id = ${id} and user_id = ${userId}`;
  return count > 0;
}

/** The user who has a passkey, by what its authenticator calls it. */
export async function findPasskeyUser(sql: Sql, credentialId: string): Promise<Uuid | undefined> {
  const [row] = await sql<{ user_id: Uuid }[]>`
    select user_id from passkeys where credential_id = ${credentialId}`;
  return row?.user_id;
}
