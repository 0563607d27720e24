/** Members of accounts: who they are, how they come and go. An account always has an owner. */
import { createHash, randomBytes } from "node:crypto";

import type { Role } from "../../shared/contracts/people.ts";
import { encodeId, newUuid, type Uuid } from "../../shared/ids.ts";
import { ApiError, notFound } from "../http/errors.ts";
import type { Sql } from "../postgres.ts";
import type { Person } from "../sessions/service.ts";
import type { UserService } from "../sessions/users.ts";
import type { AcceptBody } from "./model.ts";
import {
  accountExists,
  accountsOfUser,
  addMember,
  deleteInvitation,
  findInvitation,
  findMembership,
  insertInvitation,
  type InvitationRow,
  listInvitations,
  listMembers,
  lockOwners,
  removeMember,
  setRole,
} from "./sql.ts";

const INVITATION_MS = 7 * 86_400_000;

type MemberServiceDeps = { sql: Sql; users: Pick<UserService, "create" | "findByEmail"> };

export type MemberService = ReturnType<typeof createMemberService>;

export function createMemberService({ sql, users }: MemberServiceDeps) {
  /** Throws `not_found` when the token is of no invitation that still stands. */
  async function invitationOf(token: string): Promise<InvitationRow> {
    const invitation = await findInvitation(sql, hashToken(token));
    if (invitation === undefined) throw notFound("invitation");
    return invitation;
  }

  /** Makes the person a member, once: of two who come with one token the second finds none. */
  async function join(invitation: InvitationRow, userId: Uuid): Promise<void> {
    await sql.begin(async (sql) => {
      const stands = await deleteInvitation(sql, invitation.account_id, invitation.id);
      if (!stands) throw notFound("invitation");
      const known = await lockOwners(sql, invitation.account_id);
      if (known.includes(userId)) return;
      await addMember(sql, invitation.account_id, userId, invitation.role);
    });
  }

  return {
    findMembership: (accountId: Uuid, userId: Uuid) => findMembership(sql, accountId, userId),

    async accountsOf(userId: Uuid) {
      const rows = await accountsOfUser(sql, userId);
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

    /** For operators: makes somebody a member, of an account that is there, without asking them. */
    add: (accountId: Uuid, userId: Uuid, role: Role) => addMember(sql, accountId, userId, role),

    /** Throws `not_found`, and `invalid_request` when the account would be left without an owner. */
    async changeRole(accountId: Uuid, userId: Uuid | undefined, role: Role): Promise<void> {
      await sql.begin(async (sql) => {
        const owners = await lockOwners(sql, accountId);
        if (role !== "owner") requireAnotherOwner(owners, userId);
        const found = userId !== undefined && (await setRole(sql, accountId, userId, role));
        if (!found) throw notFound("member");
      });
    },

    /** Throws `not_found`, and `invalid_request` when the account would be left without an owner. */
    async remove(accountId: Uuid, userId: Uuid | undefined): Promise<void> {
      await sql.begin(async (sql) => {
        requireAnotherOwner(await lockOwners(sql, accountId), userId);
        const found = userId !== undefined && (await removeMember(sql, accountId, userId));
        if (!found) throw notFound("member");
      });
    },

    /** Makes an invitation. Its token is known this once: what is stored cannot give it back. */
    async invite(accountId: Uuid, email: string, role: Role) {
      const token = randomBytes(32).toString("base64url");
      const now = Date.now();
      const row = {
        id: newUuid(),
        account_id: accountId,
        email: email.toLowerCase(),
        role,
        created_at: new Date(now),
        expires_at: new Date(now + INVITATION_MS),
      };
      await sql.begin((sql) => insertInvitation(sql, { ...row, token_hash: hashToken(token) }));
      return { row, token };
    },

    async withdraw(accountId: Uuid, id: Uuid | undefined): Promise<void> {
      const found = id !== undefined && (await deleteInvitation(sql, accountId, id));
      if (!found) throw notFound("invitation");
    },

    /** What the holder of a token is offered. */
    async offer(token: string) {
      const { account_name, email, role } = await invitationOf(token);
      return { account_name, email, role, known: (await users.findByEmail(email)) !== undefined };
    },

    /**
     * Accepts for whoever has signed in, or for somebody new by the name and password they choose.
     * Throws `forbidden` when the invitation is for somebody else.
     */
    async accept(token: string, person: Person | undefined, body: AcceptBody) {
      const invitation = await invitationOf(token);
      const joined = {
        accountId: encodeId("acct", invitation.account_id),
        email: invitation.email,
      };
      if (person !== undefined) {
        if (person.email !== invitation.email) {
          throw new ApiError("forbidden", `The invitation is for ${invitation.email}.`);
        }
        await join(invitation, person.id);
        return joined;
      }
      const { name, password } = body;
      if (name === undefined || password === undefined) {
        throw new ApiError(
          "invalid_request",
          "Sign in to accept, or choose a name and a password.",
        );
      }
      await join(invitation, await users.create({ email: invitation.email, name, password }));
      return joined;
    },
  };
}

function requireAnotherOwner(owners: readonly Uuid[], leaving: Uuid | undefined): void {
  if (owners.length > 1 || leaving === undefined || !owners.includes(leaving)) return;
  throw new ApiError("invalid_request", "An account needs an owner: make somebody else one first.");
}

const hashToken = (token: string): Buffer => createHash("sha256").update(token).digest();
