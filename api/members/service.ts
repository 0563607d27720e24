/**
 * Members of accounts: listing, inviting, changing and removing them. An account always has an
 * owner.
 */
import * as z from "zod";

import {
  type Invitation,
  invitationResponse,
  type Member,
} from "../../shared/contracts/user-responses.ts";
import { email, newPassword, type Role, ROLES, userName } from "../../shared/contracts/users.ts";
import { DAY_MS } from "../../shared/durations.ts";
import { encodeId, newUuid, type Uuid } from "../../shared/ids.ts";
import { hashToken, newToken } from "../auth/api-key.ts";
import { type NewEvent, recordCommand, recordEvents, toJson } from "../events/record.ts";
import { ApiError, notFound } from "../http/errors.ts";
import { type Actor, OPERATOR, type Origin, SYSTEM, type User } from "../http/principal.ts";
import { type Consumption, requireConsumed } from "../limits/quotas.ts";
import type { Sql, Transaction } from "../postgres.ts";
import { endResets, makeReset, type Reset } from "../sessions/resets.ts";
import type { Membership } from "../sessions/session-auth.ts";
import { addressTaken, type NewUser, type UserService } from "../sessions/users.ts";
import {
  addMember,
  deleteInvitation,
  type InvitationRow,
  listMemberships,
  lockMember,
  lockMemberships,
  lockOwners,
  lockUser,
  type MemberRow,
  removeMember,
} from "./sql.ts";

export const inviteBody = z.strictObject({ email, role: z.enum(ROLES) });

export const changeMemberBody = z.strictObject({ role: z.enum(ROLES) });

/** A new user chooses a name and a password; a signed-in user sends neither. */
export const acceptBody = z.strictObject({
  name: userName.optional(),
  password: newPassword.optional(),
});

type AcceptBody = z.output<typeof acceptBody>;

/** Only this response contains the token. */
export const newInvitationResponse = invitationResponse.extend({ token: z.string() });

/** A link to set a new password; only this response contains its token. */
export const newResetResponse = z.object({ token: z.string(), expires_at: z.iso.datetime() });

export const requireFactorBody = z.strictObject({
  roles: z.array(z.enum(ROLES)).max(ROLES.length),
});

export const toMemberResponse = (row: MemberRow): Member => ({
  user_id: encodeId("user", row.user_id),
  email: row.email,
  name: row.name,
  role: row.role,
  created_at: row.created_at.toISOString(),
});

export const toInvitationResponse = (
  row: Omit<InvitationRow, "account_id" | "account_name">,
): Invitation => ({
  id: encodeId("inv", row.id),
  email: row.email,
  role: row.role,
  created_at: row.created_at.toISOString(),
  expires_at: row.expires_at.toISOString(),
});

const INVITATION_MS = 7 * DAY_MS;

export class MemberService {
  readonly #sql: Sql;
  readonly #users: UserService;

  constructor(sql: Sql, users: UserService) {
    this.#sql = sql;
    this.#users = users;
  }

  async findMembership(accountId: Uuid, userId: Uuid): Promise<Membership | undefined> {
    const sql = this.#sql;
    const [row] = await sql<Membership[]>`
      select m.role, account.plan, coalesce(account.suspended_until = 'infinity', false) as suspended,
             ${lacksFactor(sql)} as lacks_factor
        from members m join accounts account on account.id = m.account_id
       where m.account_id = ${accountId} and m.user_id = ${userId}`;
    return row;
  }

  async listAccounts(userId: Uuid) {
    const sql = this.#sql;
    const rows = await sql<
      { id: Uuid; name: string; plan: string; role: Role; needs_second_factor: boolean }[]
    >`
      select account.id, account.name, account.plan, m.role,
             ${lacksFactor(sql)} as needs_second_factor
        from members m join accounts account on account.id = m.account_id
       where m.user_id = ${userId} order by m.created_at, account.id`;
    return rows.map(({ id, ...row }) => ({ id: encodeId("acct", id), ...row }));
  }

  async list(
    accountId: Uuid,
  ): Promise<{ members: MemberRow[]; invitations: InvitationRow[]; factorRoles: Role[] }> {
    const sql = this.#sql;
    const [members, invitations, [account]] = await Promise.all([
      sql<MemberRow[]>`
        select m.user_id, u.email, u.name, m.role, m.created_at
          from members m join users u on u.id = m.user_id
         where m.account_id = ${accountId} order by m.created_at, m.user_id`,
      sql<InvitationRow[]>`
        ${selectInvitations(sql)}
         where i.account_id = ${accountId} and i.expires_at > now() order by i.created_at, i.id`,
      sql<{ roles: Role[] }[]>`
        select second_factor_roles as roles from accounts where id = ${accountId}`,
    ]);
    return { members, invitations, factorRoles: account?.roles ?? [] };
  }

  /** Throws `not_found`, and `invalid_request` when the account would have no owner left. */
  async changeRole(account: Changed, userId: Uuid | undefined, role: Role): Promise<void> {
    const { accountId } = account;
    await this.#sql.begin(async (sql) => {
      const owners = await lockOwners(sql, accountId);
      if (role !== "owner") requireAnotherOwner(owners, userId);
      const member = userId === undefined ? undefined : await lockMember(sql, accountId, userId);
      if (member === undefined) throw notFound("member");
      if (member.role === role) return;
      await sql`
        update members set role = ${role}
         where account_id = ${accountId} and user_id = ${member.user_id}`;
      await recordMemberEvent(sql, account, "member.updated", { ...member, role }, member.role);
    });
  }

  /** Sets whose roles need a second factor, from the next request of their members on. */
  async requireFactor({ accountId, actor }: Changed, roles: readonly Role[]): Promise<void> {
    await this.#sql.begin(async (sql) => {
      await sql`update accounts set second_factor_roles = ${[...roles]} where id = ${accountId}`;
      const data = toJson({
        account: { id: encodeId("acct", accountId), second_factor_roles: roles },
      });
      const event: NewEvent = { type: "account.updated", objectId: accountId, data };
      await recordEvents(sql, { accountId, mode: "live", actor }, [event]);
    });
  }

  /** Throws `not_found`, and `invalid_request` when the account would have no owner left. */
  async remove(account: Changed, userId: Uuid | undefined): Promise<void> {
    const { accountId } = account;
    await this.#sql.begin(async (sql) => {
      requireAnotherOwner(await lockOwners(sql, accountId), userId);
      const member = userId === undefined ? undefined : await lockMember(sql, accountId, userId);
      if (member === undefined) throw notFound("member");
      await removeMember(sql, accountId, member.user_id);
      await recordMemberEvent(sql, account, "member.removed", member);
    });
  }

  /**
   * Makes a link with which a member sets a new password. Throws `not_found`; `invalid_request` for
   * oneself, who has to know the present password; and `forbidden` for a member of another account
   * too, whom the owner of one must not become.
   */
  makeReset(account: Changed, userId: Uuid | undefined): Promise<Reset> {
    return this.#sql.begin(async (sql) => {
      if (userId === undefined) throw notFound("member");
      await lockUser(sql, userId);
      const memberships = await listMemberships(sql, userId);
      const member = memberships.find(({ account_id }) => account_id === account.accountId);
      if (member === undefined) throw notFound("member");
      if (account.actor.type === "user" && account.actor.id === userId)
        throw new ApiError("invalid_request", "Change your own password in your profile.");
      if (memberships.length > 1)
        throw new ApiError(
          "forbidden",
          "This member belongs to another account too: only the operator can make a link for them.",
        );
      const { account_id: _, ...row } = member;
      await recordMemberEvent(sql, account, "member.reset_link_created", row);
      return await makeReset(sql, userId);
    });
  }

  /**
   * Creates an invitation, which replaces an earlier one for the same address. Only this response
   * contains its token; the database stores a hash. Throws `rate_limited`.
   */
  async invite(account: Changed, email: string, role: Role) {
    const { accountId } = account;
    const { token, hash: token_hash } = newToken();
    const now = Date.now();
    const row = {
      id: newUuid(),
      account_id: accountId,
      email: email.toLowerCase(),
      role,
      created_at: new Date(now),
      expires_at: new Date(now + INVITATION_MS),
    };
    await this.#sql.begin(async (sql) => {
      // Invitations belong to the account, not to a mode; they are counted under live.
      const [consumption] = await sql<[Consumption]>`
        select * from consume_quota(${accountId}, 'live', 'invitations_per_day', 1)`;
      requireConsumed("invitations_per_day", consumption);
      await sql`
        delete from invitations
         where account_id = ${accountId} and (email = ${row.email} or expires_at < now())`;
      await sql`
        insert into invitations (id, account_id, email, role, token_hash, expires_at)
        values (${row.id}, ${accountId}, ${row.email}, ${role}, ${token_hash}, ${row.expires_at})`;
      await recordInvitation(sql, account, "member.invited", row);
    });
    return { row, token };
  }

  async withdraw(account: Changed, id: Uuid | undefined): Promise<void> {
    await this.#sql.begin(async (sql) => {
      const found =
        id === undefined ? undefined : await deleteInvitation(sql, account.accountId, id);
      if (found === undefined) throw notFound("invitation");
      await recordInvitation(sql, account, "member.invitation_withdrawn", found);
    });
  }

  /** Describes the invitation to the holder of its token. */
  async getOffer(token: string) {
    const invitation = await this.#getInvitation(token);
    const { account_name, email, role } = invitation;
    return { account_name, email, role, known: await this.#isKnown(invitation) };
  }

  /**
   * Accepts the invitation for the signed-in user, or for a new one with the name and password in
   * the body. An address that somebody has is accepted only in their session: nobody's password is
   * compared here. Throws `forbidden` when the invitation is for another user.
   */
  async accept(
    token: string,
    user: User | undefined,
    { name, password }: AcceptBody,
    origin: Origin,
  ) {
    const invitation = await this.#getInvitation(token);
    const { email } = invitation;
    const joined = { accountId: encodeId("acct", invitation.account_id), email };
    if (user !== undefined) {
      if (user.email !== email) throw new ApiError("forbidden", `The invitation is for ${email}.`);
      await consume(this.#sql, { invitation, token, origin }, () => Promise.resolve(user.id));
      return joined;
    }
    if (name === undefined || password === undefined) {
      throw new ApiError("invalid_request", "Sign in to accept, or choose a name and a password.");
    }
    if (await this.#isKnown(invitation)) throw addressTaken();
    const create = () => this.#users.create({ email, name, password });
    await consume(this.#sql, { invitation, token, origin }, create);
    return joined;
  }

  /** Finds the invitation of a token; throws `not_found` when there is no valid one. */
  async #getInvitation(token: string): Promise<InvitationRow> {
    const sql = this.#sql;
    const [invitation] = await sql<InvitationRow[]>`
      ${selectInvitations(sql)} where i.token_hash = ${hashToken(token)} and i.expires_at > now()`;
    if (invitation === undefined) throw notFound("invitation");
    return invitation;
  }

  /** Whether somebody has the address already, who signs in to accept. */
  async #isKnown({ email }: InvitationRow): Promise<boolean> {
    return (await this.#users.findByEmail(email)) !== undefined;
  }

  /** For operators: throws `not_found` when there is no such account. */
  async requireAccount(accountId: Uuid): Promise<void> {
    const { count } = await this.#sql`select from accounts where id = ${accountId}`;
    if (count === 0) throw notFound("account");
  }

  /** For operators: adds a user to an existing account, without an invitation. */
  add(accountId: Uuid, userId: Uuid, role: Role): Promise<void> {
    return this.#sql.begin((sql) =>
      addAndRecord(sql, { accountId, actor: OPERATOR }, userId, role),
    );
  }

  /**
   * Gives a user the role in an account that the provider they sign in with says; with none they
   * leave it. Throws `invalid_request` when the account would have no owner left.
   */
  async follow(accountId: Uuid, userId: Uuid, role: Role | undefined): Promise<void> {
    const account = { accountId, actor: SYSTEM };
    await this.#sql.begin(async (sql) => {
      if (role !== "owner") requireAnotherOwner(await lockOwners(sql, accountId), userId);
      if (role !== undefined) return await addAndRecord(sql, account, userId, role);
      const member = await lockMember(sql, accountId, userId);
      if (member === undefined) return;
      await removeMember(sql, accountId, userId);
      await recordMemberEvent(sql, account, "member.removed", member);
    });
  }

  /**
   * For operators: creates the user to whom an e-mail address belongs. A user who was invited under
   * it, and has proven nothing, is deleted. Throws as the creation of a user.
   */
  async createProven(user: NewUser): Promise<Uuid> {
    this.#users.requireStrong(user);
    await this.removeUser(user.email, { onlyUnproven: true });
    const id = await this.#users.create(user);
    await this.#users.markVerified(id);
    return id;
  }

  /**
   * For operators: deletes the user of an e-mail address, who is then no longer a member of any
   * account, and records it in each. Returns false when there is none.
   */
  removeUser(email: string, { onlyUnproven = false } = {}): Promise<boolean> {
    return this.#sql.begin(async (sql) => {
      const user = await this.#users.lock(sql, email);
      if (user === undefined || (onlyUnproven && user.email_verified)) return false;
      const memberships = await lockMemberships(sql, user.id);
      for (const { account_id: accountId, ...member } of memberships)
        await recordMemberEvent(sql, { accountId, actor: OPERATOR }, "member.removed", member);
      if (memberships.length === 0)
        await recordCommand(sql, "users remove", { user: encodeId("user", user.id) });
      await this.#users.remove(sql, user.id);
      return true;
    });
  }

  /**
   * For operators: makes a link with which the user of an address sets a new password, and records
   * it in their accounts. Returns undefined when nobody has the address.
   */
  makeOperatorReset(email: string): Promise<Reset | undefined> {
    return this.#sql.begin(async (sql) => {
      const user = await this.#users.lock(sql, email);
      if (user === undefined) return undefined;
      const memberships = await listMemberships(sql, user.id);
      for (const { account_id: accountId, ...member } of memberships) {
        const account = { accountId, actor: OPERATOR };
        await recordMemberEvent(sql, account, "member.reset_link_created", member);
      }
      if (memberships.length === 0)
        await recordCommand(sql, "users reset-link", { user: encodeId("user", user.id) });
      return await makeReset(sql, user.id);
    });
  }
}

/** Whether a member has to set up a second factor first; that of others is their provider's. */
const lacksFactor = (sql: Sql) => sql`
  (m.role = any(account.second_factor_roles)
   and not exists (select from users where users.id = m.user_id and has_second_factor)
   and not exists (select from credentials c
                    where c.user_id = m.user_id and c.provider_id <> 'credential'))`;

const selectInvitations = (sql: Sql) => sql`
  select i.id, i.account_id, account.name as account_name, i.email, i.role, i.created_at, i.expires_at
    from invitations i join accounts account on account.id = i.account_id`;

/** An account whose members change, and by whom. */
type Changed = { accountId: Uuid; actor: Actor };

/**
 * Makes a user a member and consumes the invitation; restores it if that fails. Consumes it
 * first, so that it works for one user and one password: of two concurrent uses of a token one
 * throws `not_found`.
 */
async function consume(
  sql: Sql,
  { invitation, token, origin }: { invitation: InvitationRow; token: string; origin: Origin },
  findUser: () => Promise<Uuid>,
): Promise<void> {
  const deleted = await deleteInvitation(sql, invitation.account_id, invitation.id);
  if (deleted === undefined) throw notFound("invitation");
  try {
    await join(sql, invitation, await findUser(), origin);
  } catch (error) {
    const { account_name: _, ...row } = invitation;
    await sql`insert into invitations ${sql({ ...row, token_hash: hashToken(token) })}`;
    throw error;
  }
}

async function join(
  sql: Sql,
  invitation: InvitationRow,
  userId: Uuid,
  origin: Origin,
): Promise<void> {
  await sql.begin(async (sql) => {
    const owners = await lockOwners(sql, invitation.account_id);
    // An invitation must not take an owner's role away.
    if (owners.includes(userId)) return;
    const account = {
      accountId: invitation.account_id,
      actor: { type: "user", id: userId, origin },
    } as const;
    await addAndRecord(sql, account, userId, invitation.role);
  });
}

/** Makes a user a member, or changes their role, and records what of both it was. */
async function addAndRecord(
  sql: Transaction,
  account: Changed,
  userId: Uuid,
  role: Role,
): Promise<void> {
  const { accountId } = account;
  const before = await lockMember(sql, accountId, userId);
  const joined = await addMember(sql, accountId, userId, role);
  // An owner of another account may have one, who must not get into this one by it.
  if (joined) await endResets(sql, userId);
  const member = await lockMember(sql, accountId, userId);
  if (member === undefined) throw new Error("The member is gone within the transaction.");
  if (joined) await recordMemberEvent(sql, account, "member.joined", member);
  else if (before?.role !== role)
    await recordMemberEvent(sql, account, "member.updated", member, before?.role);
}

type MemberEventType =
  "member.joined" | "member.updated" | "member.removed" | "member.reset_link_created";

/**
 * Records what happened to a member; with the previous role if it has changed. Members belong to an
 * account, not to a mode: their events are among those of live mode.
 */
async function recordMemberEvent(
  transaction: Transaction,
  { accountId, actor }: Changed,
  type: MemberEventType,
  member: MemberRow,
  before?: MemberRow["role"],
): Promise<void> {
  const changes = before === undefined ? {} : { role: { before, after: member.role } };
  const event: NewEvent = {
    type,
    objectId: member.user_id,
    data: toJson({
      member: toMemberResponse(member),
      ...(type === "member.updated" ? { changes } : {}),
    }),
  };
  await recordEvents(transaction, { accountId, mode: "live", actor }, [event]);
}

const recordInvitation = (
  transaction: Transaction,
  { accountId, actor }: Changed,
  type: "member.invited" | "member.invitation_withdrawn",
  { id, email, role }: { id: Uuid; email: string; role: string },
): Promise<void> =>
  recordEvents(transaction, { accountId, mode: "live", actor }, [
    { type, objectId: id, data: { invitation: { id: encodeId("inv", id), email, role } } },
  ]);

function requireAnotherOwner(owners: readonly Uuid[], leaving: Uuid | undefined): void {
  if (owners.length > 1 || leaving === undefined || !owners.includes(leaving)) return;
  throw new ApiError(
    "invalid_request",
    "An account needs an owner: make another member an owner first.",
  );
}
