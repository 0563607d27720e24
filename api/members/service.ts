/**
 * Members of accounts: listing, inviting, changing and removing them. An account always has an
 * owner.
 */
import type { Role } from "../../shared/contracts/users.ts";
import { DAY_MS } from "../../shared/durations.ts";
import { encodeId, newUuid, type Uuid } from "../../shared/ids.ts";
import { ApiError, notFound } from "../http/errors.ts";
import { type Actor, OPERATOR, type User } from "../http/principal.ts";
import type { Sql, Transaction } from "../postgres.ts";
import { endResets, makeReset, type Reset } from "../sessions/resets.ts";
import { addressTaken, type NewUser, type UserService } from "../sessions/users.ts";
import { createToken, hashToken } from "../url-tokens.ts";
import { recordMemberEvent } from "./events.ts";
import type { AcceptBody } from "./model.ts";
import {
  accountExists,
  addMember,
  deleteInvitation,
  findInvitation,
  findMembership,
  insertInvitation,
  type InvitationRow,
  listAccountsOfUser,
  listInvitations,
  listMembers,
  listMemberships,
  lockMember,
  lockMemberships,
  lockOwners,
  lockUser,
  removeMember,
  restoreInvitation,
  setRole,
} from "./sql.ts";

const INVITATION_MS = 7 * DAY_MS;

type MemberServiceDeps = { sql: Sql; users: UserService };

export type MemberService = ReturnType<typeof createMemberService>;

export const createMemberService = ({ sql, users }: MemberServiceDeps) => ({
  ...createMemberships(sql),
  ...createInvitations({ sql, users }),

  /**
   * For operators: deletes the user of an e-mail address, who is then no longer a member of any
   * account. Returns false when there is none.
   */
  removeUser: (email: string): Promise<boolean> => removeUser({ sql, users }, email),

  /**
   * For operators: creates the user to whom an e-mail address belongs. A user who was invited under
   * it, and has proven nothing, is deleted. Throws as the creation of a user.
   */
  async createProven(user: NewUser): Promise<Uuid> {
    users.requireStrong(user);
    await removeUser({ sql, users }, user.email, { onlyUnproven: true });
    const id = await users.create(user);
    await users.markVerified(id);
    return id;
  },

  /**
   * For operators: makes a link with which the user of an address sets a new password, and records
   * it in their accounts. Returns undefined when nobody has the address.
   */
  makeOperatorReset: (email: string): Promise<Reset | undefined> =>
    sql.begin(async (sql) => {
      const user = await users.lock(sql, email);
      if (user === undefined) return undefined;
      for (const { account_id: accountId, ...member } of await listMemberships(sql, user.id))
        await recordMemberEvent(sql, { accountId, actor: OPERATOR }, RESET_EVENT, member);
      return await makeReset(sql, user.id);
    }),
});

const RESET_EVENT = "member.reset_link_created";

/** Deletes the user of an address, and records for each account that they have left. */
const removeUser = (
  { sql, users }: MemberServiceDeps,
  email: string,
  { onlyUnproven = false }: { onlyUnproven?: boolean } = {},
): Promise<boolean> =>
  sql.begin(async (sql) => {
    const user = await users.lock(sql, email);
    if (user === undefined || (onlyUnproven && user.email_verified)) return false;
    for (const { account_id: accountId, ...member } of await lockMemberships(sql, user.id))
      await recordMemberEvent(sql, { accountId, actor: OPERATOR }, "member.removed", member);
    await users.remove(sql, user.id);
    return true;
  });

/** The members of an account. */
const createMemberships = (sql: Sql) => ({
  findMembership: (accountId: Uuid, userId: Uuid) => findMembership(sql, accountId, userId),

  async listAccounts(userId: Uuid) {
    const rows = await listAccountsOfUser(sql, userId);
    return rows.map(({ id, ...row }) => ({ id: encodeId("acct", id), ...row }));
  },

  async list(accountId: Uuid) {
    const [members, invitations] = await Promise.all([
      listMembers(sql, accountId),
      listInvitations(sql, accountId),
    ]);
    return { members, invitations };
  },

  /** For operators: throws `not_found` when there is no such account. */
  async requireAccount(accountId: Uuid): Promise<void> {
    if (!(await accountExists(sql, accountId))) throw notFound("account");
  },

  /** For operators: adds a user to an existing account, without an invitation. */
  add: (accountId: Uuid, userId: Uuid, role: Role): Promise<void> =>
    sql.begin((sql) => addAndRecord(sql, { accountId, actor: OPERATOR }, userId, role)),

  /** Throws `not_found`, and `invalid_request` when the account would have no owner left. */
  async changeRole(account: Changed, userId: Uuid | undefined, role: Role): Promise<void> {
    const { accountId } = account;
    await sql.begin(async (sql) => {
      const owners = await lockOwners(sql, accountId);
      if (role !== "owner") requireAnotherOwner(owners, userId);
      const member = userId === undefined ? undefined : await lockMember(sql, accountId, userId);
      if (member === undefined) throw notFound("member");
      if (member.role === role) return;
      await setRole(sql, accountId, member.user_id, role);
      await recordMemberEvent(sql, account, "member.updated", { ...member, role }, member.role);
    });
  },

  /** Makes a link for a member: see {@link makeMemberReset}. */
  makeReset: (account: Changed, userId: Uuid | undefined): Promise<Reset> =>
    makeMemberReset(sql, account, userId),

  /** Throws `not_found`, and `invalid_request` when the account would have no owner left. */
  async remove(account: Changed, userId: Uuid | undefined): Promise<void> {
    const { accountId } = account;
    await sql.begin(async (sql) => {
      requireAnotherOwner(await lockOwners(sql, accountId), userId);
      const member = userId === undefined ? undefined : await lockMember(sql, accountId, userId);
      if (member === undefined) throw notFound("member");
      await removeMember(sql, accountId, member.user_id);
      await recordMemberEvent(sql, account, "member.removed", member);
    });
  },
});

/**
 * Makes a link with which a member sets a new password. Throws `not_found`; `invalid_request` for
 * oneself, who has to know the present password; and `forbidden` for a member of another account
 * too, whom the owner of one must not become.
 */
const makeMemberReset = (sql: Sql, account: Changed, userId: Uuid | undefined): Promise<Reset> =>
  sql.begin(async (sql) => {
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
    await recordMemberEvent(sql, account, RESET_EVENT, row);
    return await makeReset(sql, userId);
  });

/** An account whose members change, and by whom. */
type Changed = { accountId: Uuid; actor: Actor };

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

/** Invitations, from the account's side and from that of the invited person. */
const createInvitations = (deps: MemberServiceDeps) => ({
  /** Creates an invitation. Only this response contains its token; the database stores a hash. */
  async invite(accountId: Uuid, email: string, role: Role) {
    const { token, hash: token_hash } = createToken();
    const now = Date.now();
    const row = {
      id: newUuid(),
      account_id: accountId,
      email: email.toLowerCase(),
      role,
      created_at: new Date(now),
      expires_at: new Date(now + INVITATION_MS),
    };
    await deps.sql.begin((sql) => insertInvitation(sql, { ...row, token_hash }));
    return { row, token };
  },

  async withdraw(accountId: Uuid, id: Uuid | undefined): Promise<void> {
    const found = id !== undefined && (await deleteInvitation(deps.sql, accountId, id));
    if (!found) throw notFound("invitation");
  },

  /** Describes the invitation to the holder of its token. */
  async getOffer(token: string) {
    const invitation = await getInvitation(deps.sql, token);
    const { account_name, email, role } = invitation;
    return { account_name, email, role, known: await isKnown(deps, invitation) };
  },

  /** Accepts an invitation: see {@link acceptInvitation}. */
  accept: (token: string, user: User | undefined, body: AcceptBody) =>
    acceptInvitation(deps, token, user, body),
});

/**
 * Accepts the invitation for the signed-in user, or for a new one with the name and password in the
 * body. An address that somebody has is accepted only in their session: nobody's password is
 * compared here. Throws `forbidden` when the invitation is for another user.
 */
async function acceptInvitation(
  deps: MemberServiceDeps,
  token: string,
  user: User | undefined,
  body: AcceptBody,
) {
  const invitation = await getInvitation(deps.sql, token);
  const joined = {
    accountId: encodeId("acct", invitation.account_id),
    email: invitation.email,
  };
  if (user !== undefined) {
    if (user.email !== invitation.email) {
      throw new ApiError("forbidden", `The invitation is for ${invitation.email}.`);
    }
    await consume(deps.sql, invitation, token, () => Promise.resolve(user.id));
    return joined;
  }
  const { name, password } = body;
  if (name === undefined || password === undefined) {
    throw new ApiError("invalid_request", "Sign in to accept, or choose a name and a password.");
  }
  if (await isKnown(deps, invitation)) throw addressTaken();
  const { email } = invitation;
  await consume(deps.sql, invitation, token, () => deps.users.create({ email, name, password }));
  return joined;
}

/** Finds the invitation of a token; throws `not_found` when there is no valid one. */
async function getInvitation(sql: Sql, token: string): Promise<InvitationRow> {
  const invitation = await findInvitation(sql, hashToken(token));
  if (invitation === undefined) throw notFound("invitation");
  return invitation;
}

/**
 * Makes a user a member and consumes the invitation; restores it if that fails. Consumes it
 * first, so that it works for one user and one password: of two concurrent uses of a token one
 * throws `not_found`.
 */
async function consume(
  sql: Sql,
  invitation: InvitationRow,
  token: string,
  findUser: () => Promise<Uuid>,
): Promise<void> {
  const deleted = await deleteInvitation(sql, invitation.account_id, invitation.id);
  if (!deleted) throw notFound("invitation");
  try {
    await join(sql, invitation, await findUser());
  } catch (error) {
    await restoreInvitation(sql, invitation, hashToken(token));
    throw error;
  }
}

async function join(sql: Sql, invitation: InvitationRow, userId: Uuid): Promise<void> {
  await sql.begin(async (sql) => {
    const owners = await lockOwners(sql, invitation.account_id);
    // An invitation must not take an owner's role away.
    if (owners.includes(userId)) return;
    const account = {
      accountId: invitation.account_id,
      actor: { type: "user", id: userId },
    } as const;
    await addAndRecord(sql, account, userId, invitation.role);
  });
}

/** Whether somebody has the address already, who signs in to accept. */
const isKnown = async ({ users }: MemberServiceDeps, { email }: InvitationRow): Promise<boolean> =>
  (await users.findByEmail(email)) !== undefined;

function requireAnotherOwner(owners: readonly Uuid[], leaving: Uuid | undefined): void {
  if (owners.length > 1 || leaving === undefined || !owners.includes(leaving)) return;
  throw new ApiError(
    "invalid_request",
    "An account needs an owner: make another member an owner first.",
  );
}
