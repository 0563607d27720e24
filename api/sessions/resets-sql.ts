/** SQL statements on links with which people set a new password, and on mails with them. */
import type { Uuid } from "../../shared/ids.ts";
import type { Sql, Transaction } from "../postgres.ts";

/** Most links of a user that are valid at once; the oldest give way. */
const RESETS_MAX = 10;

/** After so long a mail that could not be sent is not sent any more: nobody waits for it. */
const WAITING_MINUTES = 60;

/** Who sets a new password. */
export type ResetUser = { id: Uuid; email: string; name: string };

/** Stores a link by the hash of its token; returns until when it is valid. */
export async function insertReset(
  sql: Sql | Transaction,
  { tokenHash, userId, minutes }: { tokenHash: Buffer; userId: Uuid; minutes: number },
): Promise<Date> {
  await sql`
    delete from password_resets where token_hash in (
      select token_hash from password_resets where user_id = ${userId}
       order by created_at desc, token_hash offset ${RESETS_MAX - 1})`;
  const [row] = await sql<[{ expires_at: Date }]>`
    insert into password_resets (token_hash, user_id, expires_at)
    values (${tokenHash}, ${userId}, clock_timestamp() + make_interval(mins => ${minutes}))
    returning expires_at`;
  return row.expires_at;
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
 * false, and changes nothing, when the link is not valid any more.
 */
export async function applyReset(
  sql: Transaction,
  tokenHash: Buffer,
  passwordHash: string,
): Promise<boolean> {
  const [used] = await sql<{ user_id: Uuid }[]>`
    delete from password_resets
     where token_hash = ${tokenHash} and expires_at > clock_timestamp()
    returning user_id`;
  if (used === undefined) return false;
  const { count } = await sql`
    update credentials set password = ${passwordHash}, updated_at = now()
     where user_id = ${used.user_id} and provider_id = 'credential'`;
  if (count !== 1) throw new Error("The user has no password that could be replaced.");
  await sql`delete from sessions where user_id = ${used.user_id}`;
  await deleteResets(sql, used.user_id);
  return true;
}

/** Deletes a user's links: those made before their password changed, or they joined an account. */
export async function deleteResets(sql: Sql | Transaction, userId: Uuid): Promise<void> {
  await sql`delete from password_resets where user_id = ${userId}`;
}

export async function deleteExpiredResets(sql: Sql): Promise<void> {
  await sql`delete from password_resets where expires_at < clock_timestamp()`;
}

/** Puts a mail with a link to the user of an address into the queue, if somebody has it. */
export async function enqueueResetMail(
  sql: Transaction,
  email: string,
  language: string,
): Promise<void> {
  await sql`
    insert into report_mails (id, kind, user_id, language)
    select gen_random_uuid(), 'password_reset', id, ${language} from users where email = ${email}`;
}

/** Whether the user of a mail may still expect it. */
export const isExpected = (sql: Sql) => sql`
  (mail.created_at > clock_timestamp() - make_interval(mins => ${WAITING_MINUTES}))`;
