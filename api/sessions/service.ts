/** Signing in and out, and who a session belongs to. Passwords and sessions themselves are the library's. */
import { isAPIError } from "better-auth/api";

import { encodeId, type Uuid } from "../../shared/ids.ts";
import { ApiError, unavailable } from "../http/errors.ts";
import type { Sql } from "../postgres.ts";
import type { Attempts } from "./attempts.ts";
import type { AuthLibrary } from "./library.ts";

export type Person = { id: Uuid; email: string; name: string };

export type Session = { id: Uuid; user: Person };

type SessionServiceDeps = { sql: Sql; library: AuthLibrary; attempts: Attempts };

export type SessionService = ReturnType<typeof createSessionService>;

/** Functions that give cookies give whole `Set-Cookie` values, for the answer. */
export function createSessionService({ sql, library, attempts }: SessionServiceDeps) {
  /** The session that a request's cookie names; throws `unauthorized` when there is none. */
  async function find(headers: Headers): Promise<Session> {
    const found = await asked(library.api.getSession({ headers, query: { disableRefresh: true } }));
    if (found === null) throw notSignedIn();
    return { id: found.session.id, user: personOf(found.user) };
  }

  return {
    find,

    /** Like `find`; one that has not been extended for a day is. */
    async visit(headers: Headers): Promise<{ session: Session; cookies: string[] }> {
      const { response, headers: set } = await asked(
        library.api.getSession({ headers, returnHeaders: true }),
      );
      if (response === null) throw notSignedIn();
      const session = { id: response.session.id, user: personOf(response.user) };
      return { session, cookies: set.getSetCookie() };
    },

    /** Throws `unauthorized` when the password is not that of the address, and `rate_limited`. */
    async signIn(email: string, password: string, from: From): Promise<string[]> {
      await attempts.spend(from.address, email);
      const { headers } = await asked(
        library.api.signInEmail({
          body: { email, password },
          headers: from.headers,
          returnHeaders: true,
        }),
        () => new ApiError("unauthorized", "The e-mail address or the password is wrong."),
      );
      await attempts.forgive(from.address, email);
      return headers.getSetCookie();
    },

    async signOut(headers: Headers): Promise<string[]> {
      const answer = await asked(library.api.signOut({ headers, returnHeaders: true }));
      return answer.headers.getSetCookie();
    },

    /** Ends every session of the person, this one too. */
    async signOutEverywhere(headers: Headers): Promise<string[]> {
      await asked(library.api.revokeSessions({ headers }), notSignedIn);
      const answer = await asked(library.api.signOut({ headers, returnHeaders: true }));
      return answer.headers.getSetCookie();
    },

    /** Every other session ends, and this one goes on under a new token. */
    async changePassword(
      session: Session,
      current: string,
      next: string,
      from: From,
    ): Promise<string[]> {
      await attempts.spend(from.address, session.user.email);
      const { headers } = await asked(
        library.api.changePassword({
          body: { currentPassword: current, newPassword: next, revokeOtherSessions: true },
          headers: from.headers,
          returnHeaders: true,
        }),
        () => new ApiError("invalid_request", "The current password is wrong."),
      );
      await attempts.forgive(from.address, session.user.email);
      return headers.getSetCookie();
    },

    /** Where the person is signed in, the latest first. */
    async devices({ id, user }: Session) {
      const rows = await sql<
        { id: Uuid; user_agent: string | null; created_at: Date; updated_at: Date }[]
      >`
        select id, user_agent, created_at, updated_at from sessions
         where user_id = ${user.id} and expires_at > now()
         order by updated_at desc limit 100`;
      return rows.map((row) => ({ ...row, current: row.id === id }));
    },

    /** Whether the session goes on and its person still belongs to the account. */
    async isAlive({ callerId, accountId }: { callerId: Uuid; accountId: Uuid }): Promise<boolean> {
      const rows = await sql`
        select 1 from sessions s join members m on m.user_id = s.user_id
         where s.id = ${callerId} and s.expires_at > now() and m.account_id = ${accountId}`;
      return rows.length > 0;
    },
  };
}

/** Where a try at a password comes from: the client's address, and headers that the session keeps. */
export type From = { address: string; headers: Headers };

export const toPersonAnswer = ({ id, ...person }: Person) => ({
  id: encodeId("user", id),
  ...person,
});

const personOf = ({ id, email, name }: Person): Person => ({ id, email, name });

export const notSignedIn = (): ApiError => new ApiError("unauthorized", "Sign in first.");

/** What the library answers; a refusal of its own becomes ours, its failures are the database's. */
async function asked<T>(answer: Promise<T>, refusal?: () => ApiError): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (!isAPIError(error)) throw error;
    if (error.statusCode >= 500) throw unavailable(error);
    if (refusal !== undefined) throw refusal();
    throw error;
  }
}
