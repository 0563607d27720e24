/** SQL of members and invitations. */
import type { Role } from "../../shared/contracts/users.ts";
import type { Uuid } from "../../shared/ids.ts";
import { type Consumption, requireConsumed } from "../limits/quotas.ts";
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

export const listMembers = (sql: Sql, accountId: Uuid): Promise<MemberRow[]> =>
  sql<MemberRow[]>`
    select m.user_id, u.email, u.name, m.role, m.created_at
      from members m join users u on u.id = m.user_id
     where m.account_id = ${accountId} order by m.created_at, m.user_id`;

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

export async function setRole(
  sql: Transaction,
  accountId: Uuid,
  userId: Uuid,
  role: Role,
): Promise<void> {
  await sql`
    update members set role = ${role} where account_id = ${accountId} and user_id = ${userId}`;
}

export async function removeMember(sql: Transaction, accountId: Uuid, userId: Uuid): Promise<void> {
  await sql`delete from members where account_id = ${accountId} and user_id = ${userId}`;
}

export async function accountExists(sql: Sql, accountId: Uuid): Promise<boolean> {
  const rows = await sql`select 1 from accounts where id = ${accountId}`;
  return rows.length === 1;
}

export const listAccountsOfUser = (sql: Sql, userId: Uuid) =>
  sql<{ id: Uuid; name: string; plan: string; role: Role; needs_second_factor: boolean }[]>`
    select account.id, account.name, account.plan, m.role,
           ${lacksFactor(sql)} as needs_second_factor
      from members m join accounts account on account.id = m.account_id
     where m.user_id = ${userId} order by m.created_at, account.id`;

/**
 * A user's membership of an account; `barred` means that an operator has suspended the account,
 * and `lacks_factor` that the role needs a second factor.
 */
export type Membership = { role: Role; plan: string; barred: boolean; lacks_factor: boolean };

/** Whether a member has to set up a second factor first; that of others is their provider's. */
const lacksFactor = (sql: Sql) => sql`
  (m.role = any(account.second_factor_roles)
   and not exists (select from users where users.id = m.user_id and has_second_factor)
   and not exists (select from credentials c
                    where c.user_id = m.user_id and c.provider_id <> 'credential'))`;

/** The roles whose members need a second factor. */
export async function findFactorRoles(sql: Sql, accountId: Uuid): Promise<Role[]> {
  const [row] = await sql<{ roles: Role[] }[]>`
    select second_factor_roles as roles from accounts where id = ${accountId}`;
  return row?.roles ?? [];
}

export async function setFactorRoles(
  sql: Transaction,
  accountId: Uuid,
  roles: readonly Role[],
): Promise<void> {
  await sql`update accounts set second_factor_roles = ${[...roles]} where id = ${accountId}`;
}

export async function findMembership(
  sql: Sql,
  accountId: Uuid,
  userId: Uuid,
): Promise<Membership | undefined> {
  const [row] = await sql<Membership[]>`
    select m.role, account.plan, coalesce(account.suspended_until = 'infinity', false) as barred,
           ${lacksFactor(sql)} as lacks_factor
      from members m join accounts account on account.id = m.account_id
     where m.account_id = ${accountId} and m.user_id = ${userId}`;
  return row;
}

type NewInvitation = Omit<InvitationRow, "account_name" | "created_at"> & { token_hash: Buffer };

/**
 * Inserts an invitation, which replaces an earlier one for the same address. Throws `rate_limited`,
 * which rolls the transaction back, when the account's daily quota is exhausted.
 */
export async function insertInvitation(sql: Transaction, row: NewInvitation): Promise<void> {
  // Invitations belong to the account, not to a mode; they are counted under live.
  const [consumption] = await sql<[Consumption]>`
    select * from consume_quota(${row.account_id}, 'live', 'invitations_per_day', 1)`;
  requireConsumed("invitations_per_day", consumption);
  await sql`
    delete from invitations where account_id = ${row.account_id} and (email = ${row.email} or expires_at < now())`;
  await sql`
    insert into invitations (id, account_id, email, role, token_hash, expires_at)
    values (${row.id}, ${row.account_id}, ${row.email}, ${row.role}, ${row.token_hash}, ${row.expires_at})`;
}

/** Restores an invitation unchanged. */
export async function restoreInvitation(
  sql: Sql,
  row: InvitationRow,
  tokenHash: Buffer,
): Promise<void> {
  await sql`
    insert into invitations (id, account_id, email, role, token_hash, created_at, expires_at)
    values (${row.id}, ${row.account_id}, ${row.email}, ${row.role}, ${tokenHash}, ${row.created_at}, ${row.expires_at})`;
}

export const listInvitations = (sql: Sql, accountId: Uuid): Promise<InvitationRow[]> =>
  sql<InvitationRow[]>`
    select i.id, i.account_id, account.name as account_name, i.email, i.role, i.created_at, i.expires_at
      from invitations i join accounts account on account.id = i.account_id
     where i.account_id = ${accountId} and i.expires_at > now() order by i.created_at, i.id`;

export async function findInvitation(
  sql: Sql | Transaction,
  tokenHash: Buffer,
): Promise<InvitationRow | undefined> {
  const [row] = await sql<InvitationRow[]>`
    select i.id, i.account_id, account.name as account_name, i.email, i.role, i.created_at, i.expires_at
      from invitations i join accounts account on account.id = i.account_id
     where i.token_hash = ${tokenHash} and i.expires_at > now()`;
  return row;
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
