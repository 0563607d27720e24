/** SQL of members and invitations. */
import type { Role } from "../../shared/contracts/users.ts";
import type { Uuid } from "../../shared/ids.ts";
import type { Sql, Transaction } from "../postgres.ts";

export type MemberRow = {
  user_id: Uuid;
  email: string;
  name: string;
  role: Role;
  created_at: Date;
};

export type InvitationRow = {
  id: Uuid;
  account_id: Uuid;
  account_name: string;
  email: string;
  role: Role;
  created_at: Date;
  expires_at: Date;
};

/**
 * Locks the account's owners until the transaction ends, so that the last two cannot both leave.
 */
export async function lockOwners(sql: Transaction, accountId: Uuid): Promise<Uuid[]> {
  const rows = await sql<{ user_id: Uuid }[]>`
    select user_id from members where account_id = ${accountId} and role = 'owner' for update`;
  return rows.map((row) => row.user_id);
}

/** Finds a member, and locks them until the transaction ends. */
export async function lockMember(
  sql: Transaction,
  accountId: Uuid,
  userId: Uuid,
): Promise<MemberRow | undefined> {
  const [row] = await sql<MemberRow[]>`
    select m.user_id, u.email, u.name, m.role, m.created_at
      from members m join users u on u.id = m.user_id
     where m.account_id = ${accountId} and m.user_id = ${userId} for update of m`;
  return row;
}

type AccountMember = MemberRow & { account_id: Uuid };

const selectMemberships = (sql: Transaction, userId: Uuid) => sql<AccountMember[]>`
  select m.account_id, m.user_id, u.email, u.name, m.role, m.created_at
    from members m join users u on u.id = m.user_id
   where m.user_id = ${userId} order by m.account_id`;

/** Finds the memberships of a user, and locks them likewise. */
export const lockMemberships = (sql: Transaction, userId: Uuid): Promise<AccountMember[]> =>
  sql<AccountMember[]>`${selectMemberships(sql, userId)} for update of m`;

/** The memberships of a user, whom {@link lockUser} keeps from joining another account. */
export const listMemberships = (sql: Transaction, userId: Uuid): Promise<AccountMember[]> =>
  selectMemberships(sql, userId);

/** Locks a user until the transaction ends: somebody else's joins wait for it. */
export async function lockUser(sql: Transaction, userId: Uuid): Promise<void> {
  await sql`select from users where id = ${userId} for update`;
}

/** Adds a member, or sets the role of one. Returns whether they were none before. */
export async function addMember(
  sql: Transaction,
  accountId: Uuid,
  userId: Uuid,
  role: Role,
): Promise<boolean> {
  // A row that was only inserted has never been locked or updated.
  const [row] = await sql<[{ joined: boolean }]>`
    insert into members (account_id, user_id, role) values (${accountId}, ${userId}, ${role})
    on conflict (account_id, user_id) do update set role = excluded.role
    returning xmax = 0 as joined`;
  return row.joined;
}

export async function removeMember(sql: Transaction, accountId: Uuid, userId: Uuid): Promise<void> {
  await sql`delete from members where account_id = ${accountId} and user_id = ${userId}`;
}

/** Deletes an invitation, and returns it; undefined when it does not exist (any more). */
export async function deleteInvitation(
  sql: Sql | Transaction,
  accountId: Uuid,
  id: Uuid,
): Promise<{ id: Uuid; email: string; role: Role } | undefined> {
  const [row] = await sql<{ id: Uuid; email: string; role: Role }[]>`
    delete from invitations where id = ${id} and account_id = ${accountId} returning id, email, role`;
  return row;
}
