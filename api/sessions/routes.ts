/** `/auth`: signing in to the dashboard and out of it. */
import { Elysia } from "elysia";

import type { AuthPlugin } from "../auth/plugin.ts";
import { doneAnswer } from "../http/fields.ts";
import type { Call } from "../http/request-context.ts";
import type { MemberService } from "../members/service.ts";
import { changePasswordBody, deviceListAnswer, sessionAnswer, signInBody } from "./model.ts";
import {
  type From,
  notSignedIn,
  type Session,
  type SessionService,
  toPersonAnswer,
} from "./service.ts";

type SessionRoutesDeps = {
  auth: AuthPlugin;
  sessions: SessionService;
  members: MemberService;
  shortUrl: string;
};

type Answered = { headers: Record<string, string | number> };

export const sessionRoutes = ({ auth, sessions, members, shortUrl }: SessionRoutesDeps) =>
  new Elysia({ name: "sessions", prefix: "/auth" })
    .use(auth)
    .post(
      "/sign-in",
      async ({ call, request, body, set }) => {
        setCookies(set, await sessions.signIn(body.email, body.password, fromOf(call, request)));
        return { success: true, message: "Signed in." };
      },
      {
        access: "public",
        jsonBody: "required",
        body: signInBody,
        response: { 200: doneAnswer },
      },
    )
    .get(
      "/session",
      async ({ request, set }) => {
        const { session, cookies } = await sessions.visit(request.headers);
        setCookies(set, cookies);
        return {
          user: toPersonAnswer(session.user),
          accounts: await members.accountsOf(session.user.id),
          short_url: shortUrl,
        };
      },
      { access: "session", response: { 200: sessionAnswer } },
    )
    .post(
      "/sign-out",
      async ({ request, set }) => {
        setCookies(set, await sessions.signOut(request.headers));
        return { success: true, message: "Signed out." };
      },
      { access: "session", response: { 200: doneAnswer } },
    )
    .post(
      "/sign-out-everywhere",
      async ({ request, set }) => {
        setCookies(set, await sessions.signOutEverywhere(request.headers));
        return { success: true, message: "Signed out everywhere." };
      },
      { access: "session", response: { 200: doneAnswer } },
    )
    .post(
      "/password",
      async ({ call, request, body, set }) => {
        const cookies = await sessions.changePassword(
          sessionOf(call),
          body.current_password,
          body.new_password,
          fromOf(call, request),
        );
        setCookies(set, cookies);
        return { success: true, message: "The password has been changed." };
      },
      {
        access: "session",
        jsonBody: "required",
        body: changePasswordBody,
        response: { 200: doneAnswer },
      },
    )
    .get(
      "/devices",
      async ({ call }) => ({
        data: (await sessions.devices(sessionOf(call))).map((row) => ({
          user_agent: row.user_agent,
          created_at: row.created_at.toISOString(),
          last_seen_at: row.updated_at.toISOString(),
          current: row.current,
        })),
      }),
      { access: "session", response: { 200: deviceListAnswer } },
    );

/** The session of a route that asks for one. */
function sessionOf(call: Call | undefined): Session {
  if (call?.session === undefined) throw notSignedIn();
  return call.session;
}

/** Of a try at a password the library sees the cookie and the browser's name alone. */
function fromOf(call: Call | undefined, request: Request): From {
  const headers = new Headers();
  for (const name of ["cookie", "user-agent"]) {
    const value = request.headers.get(name);
    if (value !== null) headers.set(name, value);
  }
  return { address: call?.address ?? "", headers };
}

/** The framework writes each entry of the list as a header of its own. */
function setCookies(set: Answered, cookies: string[]): void {
  if (cookies.length > 0) Object.assign(set.headers, { "set-cookie": cookies });
}
