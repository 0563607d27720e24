/** `/auth`: signing in to and out of the dashboard, and setting a new password. */
import { Elysia } from "elysia";
import * as z from "zod";

import type { Uuid } from "../../shared/ids.ts";
import { parseAgent, UNKNOWN_AGENT } from "../../shared/visitors/user-agent.ts";
import { successResponse } from "../http/common-schemas.ts";
import { ApiError } from "../http/errors.ts";
import type { Session } from "../http/principal.ts";
import { type Call, originOf, type ResponseSettings } from "../http/request-context.ts";
import { NetworkWindow } from "../limits/windows.ts";
import type { AccessPlugin, SiteContext } from "../site.ts";
import {
  changePasswordBody,
  deviceListResponse,
  requestResetBody,
  resetOptionsResponse,
  resetUserResponse,
  sessionResponse,
  signInBody,
  useResetBody,
} from "./model.ts";
import type { PasswordResets } from "./resets.ts";
import { type ClientInfo, notSignedIn, type SessionService, toUserResponse } from "./service.ts";

type SessionResponse = z.output<typeof sessionResponse>;

/** `listAccounts` lists the accounts that a user is a member of. */
export const sessionRoutes = (
  auth: AccessPlugin,
  sessions: SessionService,
  listAccounts: (userId: Uuid) => Promise<SessionResponse["accounts"]>,
  { shortUrl, sendsMails }: SiteContext,
) =>
  new Elysia({ name: "sessions", prefix: "/auth" })
    .use(auth)
    .post(
      "/sign-in",
      async ({ call, request, body, set }) => {
        setCookies(set, await sessions.signIn(body, clientInfo(call, request)));
        return { success: true, message: "Signed in." };
      },
      {
        access: "public",
        jsonBody: "required",
        body: signInBody,
        response: { 200: successResponse },
      },
    )
    .get(
      "/session",
      async ({ request, set }) => {
        const { session, cookies } = await sessions.refresh(request.headers);
        setCookies(set, cookies);
        return {
          user: toUserResponse(session.user),
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
        setCookies(set, await sessions.signOut(requireSession(call), client));
        return { success: true, message: "Signed out." };
      },
      { access: "session", response: { 200: successResponse } },
    )
    .post(
      "/sign-out-everywhere",
      async ({ call, request, set }) => {
        const client = clientInfo(call, request);
        setCookies(set, await sessions.signOut(requireSession(call), client, true));
        return { success: true, message: "Signed out everywhere." };
      },
      { access: "session", response: { 200: successResponse } },
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
      {
        access: "session",
        jsonBody: "required",
        body: changePasswordBody,
        response: { 200: successResponse },
      },
    )
    .get(
      "/devices",
      async ({ call }) => ({
        data: (await sessions.devices(requireSession(call))).map((row) => ({
          user_agent: row.user_agent,
          ...namesOf(row.user_agent ?? ""),
          created_at: row.created_at.toISOString(),
          last_seen_at: row.updated_at.toISOString(),
          current: row.current,
        })),
      }),
      { access: "session", response: { 200: deviceListResponse } },
    );

const tokenParams = z.object({ token: z.string().max(100) });

/**
 * `/auth/password-resets`: for people who have forgotten their password, without a session.
 * `sendsMails` says whether this installation sends mails.
 */
export function resetRoutes(auth: AccessPlugin, resets: PasswordResets, sendsMails: boolean) {
  const networks = new NetworkWindow("password_resets");
  return new Elysia({ name: "password resets", prefix: "/auth/password-resets" })
    .use(auth)
    .get("", () => ({ by_mail: sendsMails }), {
      access: "public",
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
      {
        access: "public",
        jsonBody: "required",
        body: requestResetBody,
        response: { 200: successResponse },
      },
    )
    .get("/:token", async ({ params }) => ({ email: (await resets.find(params.token)).email }), {
      access: "public",
      params: tokenParams,
      response: { 200: resetUserResponse },
    })
    .post(
      "/:token",
      async ({ call, params, body }) => {
        await resets.use(params.token, body.password, originOf(call));
        return { success: true, message: "The password has been set. Sign in with it." };
      },
      {
        access: "public",
        jsonBody: "required",
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

/** The session of a route with `access: "session"`. */
function requireSession(call: Call | undefined): Session {
  if (call?.session === undefined) throw notSignedIn();
  return call.session;
}

/** Passes only the cookie and the browser's name to the library. */
function clientInfo(call: Call, request: Request): ClientInfo {
  const headers = new Headers();
  for (const name of ["cookie", "user-agent"]) {
    const value = request.headers.get(name);
    if (value !== null) headers.set(name, value);
  }
  return { address: call.address, origin: originOf(call), headers };
}

/** The framework writes one header for each value. */
function setCookies(set: ResponseSettings, cookies: string[]): void {
  if (cookies.length > 0) Object.assign(set.headers, { "set-cookie": cookies });
}
