/** `/auth`: signing in to and out of the dashboard. */
import { Elysia } from "elysia";
import type * as z from "zod";

import type { Uuid } from "../../shared/ids.ts";
import { parseAgent, UNKNOWN_AGENT } from "../../shared/visitors/user-agent.ts";
import type { AuthPlugin } from "../auth/plugin.ts";
import { successResponse } from "../http/common-schemas.ts";
import type { Session } from "../http/principal.ts";
import type { Call } from "../http/request-context.ts";
import { changePasswordBody, deviceListResponse, sessionResponse, signInBody } from "./model.ts";
import { type ClientInfo, notSignedIn, type SessionService, toUserResponse } from "./service.ts";

type SessionRoutesDeps = {
  auth: AuthPlugin;
  sessions: SessionService;
  /** Lists the accounts that a user is a member of. */
  listAccounts: (userId: Uuid) => Promise<z.output<typeof sessionResponse>["accounts"]>;
  shortUrl: string;
  /** Whether this installation sends mails. */
  sendsMails: boolean;
};

type ResponseSettings = { headers: Record<string, string | number> };

export const sessionRoutes = ({
  auth,
  sessions,
  listAccounts,
  shortUrl,
  sendsMails,
}: SessionRoutesDeps) =>
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
      async ({ request, set }) => {
        setCookies(set, await sessions.signOut(request.headers));
        return { success: true, message: "Signed out." };
      },
      { access: "session", response: { 200: successResponse } },
    )
    .post(
      "/sign-out-everywhere",
      async ({ request, set }) => {
        setCookies(set, await sessions.signOutEverywhere(request.headers));
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
function clientInfo(call: Call | undefined, request: Request): ClientInfo {
  const headers = new Headers();
  for (const name of ["cookie", "user-agent"]) {
    const value = request.headers.get(name);
    if (value !== null) headers.set(name, value);
  }
  return { address: call?.address ?? "", headers };
}

/** The framework writes one header for each value. */
function setCookies(set: ResponseSettings, cookies: string[]): void {
  if (cookies.length > 0) Object.assign(set.headers, { "set-cookie": cookies });
}
