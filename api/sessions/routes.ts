/** `/auth`: signing in to and out of the dashboard, and setting a new password. */
import { Elysia } from "elysia";
import * as z from "zod";

import {
  type Account,
  deviceListResponse,
  methodsResponse,
  sessionResponse,
  type SignInMethods,
} from "../../shared/contracts/user-responses.ts";
import { decodeId, encodeId, type Uuid } from "../../shared/ids.ts";
import { parseAgent, UNKNOWN_AGENT } from "../../shared/visitors/user-agent.ts";
import { confirmAfter, successResponse } from "../http/common-schemas.ts";
import { ApiError } from "../http/errors.ts";
import { originOf } from "../http/request-context.ts";
import { NetworkWindow } from "../limits/windows.ts";
import type { AccessPlugin, SiteContext } from "../site.ts";
import {
  changePasswordBody,
  requestResetBody,
  resetOptionsResponse,
  resetUserResponse,
  signInBody,
  signInByCodeBody,
  signInResponse,
  signOutResponse,
  useResetBody,
} from "./model.ts";
import type { PasswordResets } from "./resets.ts";
import { type SessionService, toUserResponse } from "./service.ts";
import { clientInfo, requireSession, setCookies } from "./session-auth.ts";

/**
 * `methods` says how people can sign in; `listAccounts` lists the accounts that a user is a member
 * of.
 */
export const sessionRoutes = (
  auth: AccessPlugin,
  sessions: SessionService,
  methods: SignInMethods,
  listAccounts: (userId: Uuid) => Promise<Account[]>,
  { shortUrl, sendsMails }: SiteContext,
) =>
  new Elysia({ name: "sessions", prefix: "/auth" })
    .use(auth)
    // A part of the sign-in page, as its files are: people who share an address read it often.
    .get("/methods", () => methods, { access: "static", response: { 200: methodsResponse } })
    .post(
      "/sign-in",
      async ({ call, request, body, set }) => {
        const { cookies, needsCode } = await sessions.signIn(body, clientInfo(call, request));
        setCookies(set, cookies);
        const message = needsCode ? "Send a code to sign in." : "Signed in.";
        return { success: true, message, needs_code: needsCode };
      },
      { access: "public", body: signInBody, response: { 200: signInResponse } },
    )
    .post(
      "/sign-in/code",
      async ({ call, request, body, set }) => {
        setCookies(set, await sessions.signInByCode(body.code, clientInfo(call, request)));
        return { success: true, message: "Signed in." };
      },
      { access: "public", body: signInByCodeBody, response: { 200: successResponse } },
    )
    .get(
      "/session",
      async ({ request, set }) => {
        const { session, cookies } = await sessions.refresh(request.headers);
        setCookies(set, cookies);
        return {
          user: toUserResponse(session.user),
          has_password: await sessions.hasPassword(session),
          accounts: await listAccounts(session.user.id),
          short_url: shortUrl,
          sends_mails: sendsMails,
        };
      },
      { access: "session", response: { 200: sessionResponse } },
    )
    .post(
      "/sign-out",
      async ({ call, request, set }) => {
        const client = clientInfo(call, request);
        const { cookies, url } = await sessions.signOut(requireSession(call), client);
        setCookies(set, cookies);
        return { success: true, message: "Signed out.", url };
      },
      { access: "session", response: { 200: signOutResponse } },
    )
    .post(
      "/sign-out-everywhere",
      async ({ call, request, set }) => {
        const client = clientInfo(call, request);
        const { cookies, url } = await sessions.signOut(requireSession(call), client, true);
        setCookies(set, cookies);
        return { success: true, message: "Signed out everywhere.", url };
      },
      { access: "session", response: { 200: signOutResponse } },
    )
    .post(
      "/password",
      async ({ call, request, body, set }) => {
        const cookies = await sessions.changePassword(
          requireSession(call),
          body.current_password,
          body.new_password,
          clientInfo(call, request),
        );
        setCookies(set, cookies);
        return { success: true, message: "The password has been changed." };
      },
      { access: "session", body: changePasswordBody, response: { 200: successResponse } },
    )
    .get(
      "/devices",
      async ({ call }) => ({
        data: (await sessions.devices(requireSession(call))).map((row) => ({
          id: encodeId("sess", row.id),
          user_agent: row.user_agent,
          ...namesOf(row.user_agent ?? ""),
          created_at: row.created_at.toISOString(),
          last_seen_at: row.updated_at.toISOString(),
          current: row.current,
        })),
      }),
      { access: "session", response: { 200: deviceListResponse } },
    )
    .delete(
      "/devices/:id",
      async ({ call, params, request }) => {
        const client = clientInfo(call, request);
        await sessions.end(requireSession(call), decodeId("sess", params.id), client);
        return { success: true, message: "The session has ended." };
      },
      {
        access: "session",
        params: z.object({ id: z.string() }),
        response: { 200: successResponse },
      },
    );

const tokenParams = z.object({ token: z.string().max(100) });

/**
 * `/auth/password-resets`: for people who have forgotten their password, without a session.
 * `sendsMails` says whether this installation sends mails.
 */
export function resetRoutes(auth: AccessPlugin, resets: PasswordResets, sendsMails: boolean) {
  const networks = new NetworkWindow("password_resets");
  return new Elysia({ name: "password-resets", prefix: "/auth/password-resets" })
    .use(auth)
    .get("", () => ({ by_mail: sendsMails }), {
      access: "static",
      response: { 200: resetOptionsResponse },
    })
    .post(
      "",
      async ({ call, body, set }) => {
        networks.enforce(call.address, set.headers);
        if (!sendsMails)
          throw new ApiError(
            "invalid_request",
            "No mails are sent here. Ask an owner of your account, or the operator, for a link.",
          );
        await resets.request(body.email, body.language);
        return {
          success: true,
          message: "If somebody has this address, a mail with a link is on its way.",
        };
      },
      { access: "public", body: requestResetBody, response: { 200: successResponse } },
    )
    .get("/:token", async ({ params }) => ({ email: (await resets.find(params.token)).email }), {
      access: "public",
      params: tokenParams,
      response: { 200: resetUserResponse },
    })
    .post(
      "/:token",
      ({ call, params, body }) =>
        confirmAfter(
          resets.use(params.token, body.password, originOf(call)),
          "The password has been set. Sign in with it.",
        ),
      {
        access: "public",
        params: tokenParams,
        body: useResetBody,
        response: { 200: successResponse },
      },
    );
}

/** The names of a session's browser and system; null for what its user agent does not tell. */
function namesOf(userAgent: string): { browser: string | null; os: string | null } {
  const { browser, os } = parseAgent(userAgent);
  return { browser: knownOnly(browser), os: knownOnly(os) };
}

const knownOnly = (name: string): string | null => (name === UNKNOWN_AGENT ? null : name);
