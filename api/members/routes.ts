/**
 * `/api/:account/members`, `/api/:account/invitations` and `/auth/invitations`: members of an
 * account, and how they join.
 */
import { Elysia } from "elysia";
import * as z from "zod";

import {
  acceptedResponse,
  invitationOfferResponse,
  memberListResponse,
} from "../../shared/contracts/user-responses.ts";
import { decodeId } from "../../shared/ids.ts";
import { confirmAfter, successResponse } from "../http/common-schemas.ts";
import { originOf, principalOf } from "../http/request-context.ts";
import type { SessionService } from "../sessions/service.ts";
import type { AccessPlugin } from "../site.ts";
import {
  acceptBody,
  changeMemberBody,
  inviteBody,
  type MemberService,
  newInvitationResponse,
  newResetResponse,
  requireFactorBody,
  toInvitationResponse,
  toMemberResponse,
} from "./service.ts";

const memberParams = z.object({ account: z.string(), id: z.string() });

export const memberRoutes = (auth: AccessPlugin, members: MemberService) =>
  new Elysia({ name: "members", prefix: "/api/:account" })
    .use(auth)
    .get(
      "/members",
      async ({ call }) => {
        const { accountId } = principalOf(call);
        const { members: rows, invitations, factorRoles } = await members.list(accountId);
        return {
          second_factor_roles: factorRoles,
          members: rows.map(toMemberResponse),
          invitations: invitations.map(toInvitationResponse),
        };
      },
      { access: "members:read", response: { 200: memberListResponse } },
    )
    .put(
      "/members/second-factor",
      ({ call, body }) =>
        confirmAfter(
          members.requireFactor(principalOf(call), body.roles),
          "The roles have been changed.",
        ),
      { access: "members:write", body: requireFactorBody, response: { 200: successResponse } },
    )
    .patch(
      "/members/:id",
      ({ call, params, body }) =>
        confirmAfter(
          members.changeRole(principalOf(call), decodeId("user", params.id), body.role),
          "The role has been changed.",
        ),
      {
        access: "members:write",
        params: memberParams,
        body: changeMemberBody,
        response: { 200: successResponse },
      },
    )
    .delete(
      "/members/:id",
      ({ call, params }) =>
        confirmAfter(
          members.remove(principalOf(call), decodeId("user", params.id)),
          "The member has been removed.",
        ),
      { access: "members:write", params: memberParams, response: { 200: successResponse } },
    )
    .post(
      "/members/:id/password-resets",
      async ({ call, params, set }) => {
        const reset = await members.makeReset(principalOf(call), decodeId("user", params.id));
        set.status = 201;
        return { token: reset.token, expires_at: reset.expires_at.toISOString() };
      },
      { access: "members:write", params: memberParams, response: { 201: newResetResponse } },
    )
    .post(
      "/invitations",
      async ({ call, body, set }) => {
        const { row, token } = await members.invite(principalOf(call), body.email, body.role);
        set.status = 201;
        return { ...toInvitationResponse(row), token };
      },
      { access: "members:write", body: inviteBody, response: { 201: newInvitationResponse } },
    )
    .delete(
      "/invitations/:id",
      ({ call, params }) =>
        confirmAfter(
          members.withdraw(principalOf(call), decodeId("inv", params.id)),
          "The invitation has been withdrawn.",
        ),
      { access: "members:write", params: memberParams, response: { 200: successResponse } },
    );

const tokenParams = z.object({ token: z.string().max(100) });

/** Every holder of the token may see the offer; only the invited user may accept it. */
export const invitationRoutes = (
  auth: AccessPlugin,
  members: MemberService,
  sessions: SessionService,
) =>
  new Elysia({ name: "invitations", prefix: "/auth/invitations" })
    .use(auth)
    .get("/:token", ({ params }) => members.getOffer(params.token), {
      access: "public",
      params: tokenParams,
      response: { 200: invitationOfferResponse },
    })
    .post(
      "/:token/accept",
      async ({ call, params, body, request }) => {
        // A new user has no session yet and chooses a password.
        const isNew = body.password !== undefined;
        const session = isNew ? undefined : await sessions.find(request.headers);
        const { accountId } = await members.accept(
          params.token,
          session?.user,
          body,
          originOf(call),
        );
        return { account_id: accountId };
      },
      {
        access: "public",
        params: tokenParams,
        body: acceptBody,
        response: { 200: acceptedResponse },
      },
    );
