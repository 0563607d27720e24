/** `/api/:account/members` and `/auth/invitations`: who belongs to an account, and how one joins it. */
import { Elysia } from "elysia";
import * as z from "zod";

import { decodeId } from "../../shared/ids.ts";
import { type AuthPlugin, principalOf } from "../auth/plugin.ts";
import { doneAnswer } from "../http/fields.ts";
import type { SessionService } from "../sessions/service.ts";
import {
  acceptBody,
  acceptedAnswer,
  changeMemberBody,
  invitationOfferAnswer,
  inviteBody,
  memberListAnswer,
  newInvitationAnswer,
  toInvitationAnswer,
  toMemberAnswer,
} from "./model.ts";
import type { MemberService } from "./service.ts";

type MemberRoutesDeps = { auth: AuthPlugin; members: MemberService };

const memberParams = z.object({ account: z.string(), id: z.string() });

const READING = { scope: "members:read", limit: null, cost: 1 } as const;
const WRITING = { scope: "members:write", limit: null, cost: 1 } as const;

export const memberRoutes = ({ auth, members }: MemberRoutesDeps) =>
  new Elysia({ name: "members", prefix: "/api/:account" })
    .use(auth)
    .get(
      "/members",
      async ({ call }) => {
        const found = await members.list(principalOf(call).accountId);
        return {
          members: found.members.map(toMemberAnswer),
          invitations: found.invitations.map(toInvitationAnswer),
        };
      },
      { access: READING, response: { 200: memberListAnswer } },
    )
    .patch(
      "/members/:id",
      async ({ call, params, body }) => {
        const { accountId } = principalOf(call);
        await members.changeRole(accountId, decodeId("user", params.id), body.role);
        return { success: true, message: "The role has been changed." };
      },
      {
        access: WRITING,
        jsonBody: "required",
        params: memberParams,
        body: changeMemberBody,
        response: { 200: doneAnswer },
      },
    )
    .delete(
      "/members/:id",
      async ({ call, params }) => {
        await members.remove(principalOf(call).accountId, decodeId("user", params.id));
        return { success: true, message: "The member has been removed." };
      },
      { access: WRITING, params: memberParams, response: { 200: doneAnswer } },
    )
    .post(
      "/invitations",
      async ({ call, body, set }) => {
        const { accountId } = principalOf(call);
        const { row, token } = await members.invite(accountId, body.email, body.role);
        set.status = 201;
        return { ...toInvitationAnswer(row), token };
      },
      {
        access: WRITING,
        jsonBody: "required",
        body: inviteBody,
        response: { 201: newInvitationAnswer },
      },
    )
    .delete(
      "/invitations/:id",
      async ({ call, params }) => {
        await members.withdraw(principalOf(call).accountId, decodeId("inv", params.id));
        return { success: true, message: "The invitation has been withdrawn." };
      },
      { access: WRITING, params: memberParams, response: { 200: doneAnswer } },
    );

type InvitationRoutesDeps = MemberRoutesDeps & { sessions: Pick<SessionService, "find"> };

const tokenParams = z.object({ token: z.string().max(100) });

/** Whoever holds the token may look; whom it is for may accept. */
export const invitationRoutes = ({ auth, members, sessions }: InvitationRoutesDeps) =>
  new Elysia({ name: "invitations", prefix: "/auth/invitations" })
    .use(auth)
    .get("/:token", ({ params }) => members.offer(params.token), {
      access: "public",
      params: tokenParams,
      response: { 200: invitationOfferAnswer },
    })
    .post(
      "/:token/accept",
      async ({ params, body, request }) => {
        // Somebody new has no session, and chooses a password instead.
        const isNew = body.password !== undefined;
        const session = isNew ? undefined : await sessions.find(request.headers);
        const { accountId } = await members.accept(params.token, session?.user, body);
        return { account_id: accountId };
      },
      {
        access: "public",
        jsonBody: "required",
        params: tokenParams,
        body: acceptBody,
        response: { 200: acceptedAnswer },
      },
    );
