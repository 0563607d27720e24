/**
 * Signing in and out, and looking up sessions. Better Auth checks the passwords and manages the
 * sessions.
 */
import { isAPIError } from "better-auth/api";

import { encodeId, type Uuid } from "../../shared/ids.ts";
import { ApiError, unavailable } from "../http/errors.ts";
import type { Principal, Session, User } from "../http/principal.ts";
import { rateLimited } from "../http/rate-limit.ts";
import type { KeyWindow } from "../limits/windows.ts";
import type { Sql } from "../postgres.ts";
import type { Attempt, Attempts } from "./attempts.ts";
import type { AuthLibrary } from "./better-auth.ts";
import type { DeviceCookies } from "./device-cookie.ts";
import type { RequireStrongPassword } from "./password-strength.ts";
import { isSessionAlive, listSessions, listUsersOfAddress } from "./sql.ts";

type SessionServiceDeps = {
  sql: Sql;
  library: AuthLibrary;
  attempts: Attempts;
  requireStrongPassword: RequireStrongPassword;
  devices: DeviceCookies;
};

export type SessionService = ReturnType<typeof createSessionService>;

/** Functions that return cookies return whole `Set-Cookie` values for the response. */
export const createSessionService = (deps: SessionServiceDeps) => ({
  ...createSessions(deps),
  ...createPasswordChecks(deps),
});

/** Sessions of signed-in users. */
const createSessions = ({ sql, library }: SessionServiceDeps) => ({
  /** Finds the session of a request's cookie; throws `unauthorized` when there is none. */
  async find(headers: Headers): Promise<Session> {
    const found = await translateErrors(
      library.api.getSession({ headers, query: { disableRefresh: true } }),
    );
    if (found === null) throw notSignedIn();
    return { id: found.session.id, user: toUser(found.user) };
  },

  /** Like `find`; extends a session that has not been extended for a day. */
  async refresh(headers: Headers): Promise<{ session: Session; cookies: string[] }> {
    const { response, headers: set } = await translateErrors(
      library.api.getSession({ headers, returnHeaders: true }),
    );
    if (response === null) throw notSignedIn();
    const session = { id: response.session.id, user: toUser(response.user) };
    return { session, cookies: set.getSetCookie() };
  },

  async signOut(headers: Headers): Promise<string[]> {
    const response = await translateErrors(library.api.signOut({ headers, returnHeaders: true }));
    return response.headers.getSetCookie();
  },

  /** Ends every session of the user, including this one. */
  async signOutEverywhere(headers: Headers): Promise<string[]> {
    await translateErrors(library.api.revokeSessions({ headers }), notSignedIn);
    const response = await translateErrors(library.api.signOut({ headers, returnHeaders: true }));
    return response.headers.getSetCookie();
  },

  /** Lists where the user is signed in, the most recently seen first. */
  async devices({ id, user }: Session) {
    const rows = await listSessions(sql, user.id);
    return rows.map((row) => ({ ...row, current: row.id === id }));
  },

  /** Whether the session is valid and its user may still use the account. */
  isAlive: ({ callerId, accountId }: Pick<Principal, "callerId" | "accountId">): Promise<boolean> =>
    isSessionAlive(sql, callerId, accountId),
});

/** What takes a password, and counts attempts. */
function createPasswordChecks(deps: SessionServiceDeps) {
  const { library, attempts, devices, requireStrongPassword } = deps;

  const toAttempt = ({ address, headers }: ClientInfo, email: string): Attempt => ({
    address,
    email,
    device: devices.find(headers, email),
  });

  return {
    /**
     * Signs in the user of an address, first of all the member of `account`, with this password.
     * Throws `unauthorized` for a wrong e-mail address or password, and `rate_limited`.
     */
    async signIn({ email, password, account }: SignIn, client: ClientInfo): Promise<string[]> {
      const attempt = toAttempt(client, email);
      await attempts.consume(attempt);
      const logins = listLogins(
        await listUsersOfAddress(deps.sql, email, account),
        email,
        attempts.correct,
      );
      const { headers, response } = await translateErrors(
        signInOneOf(library, logins, password, client.headers),
        () => new ApiError("unauthorized", "The e-mail address or the password is wrong."),
      );
      attempts.correct.consume(response.user.id);
      await attempts.refund(attempt);
      return [...headers.getSetCookie(), devices.issue(client.headers, email)];
    },

    /** Changes the password, ends every other session, and continues this one under a new token. */
    async changePassword(
      session: Session,
      current: string,
      next: string,
      client: ClientInfo,
    ): Promise<string[]> {
      const { user } = session;
      const attempt = toAttempt(client, user.email);
      requireUnexhausted(attempts.correct, user.id);
      await attempts.consume(attempt);
      requireStrongPassword(next, [user.email, user.name]);
      const { headers } = await translateErrors(
        library.api.changePassword({
          body: { currentPassword: current, newPassword: next, revokeOtherSessions: true },
          headers: client.headers,
          returnHeaders: true,
        }),
        () => new ApiError("invalid_request", "The current password is wrong."),
      );
      attempts.correct.consume(user.id);
      await attempts.refund(attempt);
      return headers.getSetCookie();
    },
  };
}

/**
 * The login names to try for an e-mail address: several invited users may share it. Throws
 * `rate_limited`.
 */
function listLogins(
  users: { id: Uuid; login: string }[],
  email: string,
  correct: KeyWindow,
): string[] {
  const [first] = users;
  // For an unknown address, the library takes as long as for a wrong password.
  if (first === undefined) return [email];
  const left = users.filter(({ id }) => !correct.exhausted(id));
  if (left.length === 0) requireUnexhausted(correct, first.id);
  return left.map(({ login }) => login);
}

function requireUnexhausted(correct: KeyWindow, user: Uuid): void {
  if (correct.exhausted(user)) throw rateLimited(correct.state(user), Date.now());
}

/**
 * Signs in as the first user with this password; throws the library's error when there is none.
 */
async function signInOneOf(
  library: AuthLibrary,
  [login = "", ...others]: string[],
  password: string,
  headers: Headers,
) {
  try {
    const body = { email: login, password };
    return await library.api.signInEmail({ body, headers, returnHeaders: true });
  } catch (error) {
    if (others.length === 0 || !isAPIError(error) || error.statusCode >= 500) throw error;
    return await signInOneOf(library, others, password, headers);
  }
}

type SignIn = {
  email: string;
  password: string;
  /** The account that the user wants to see, if that is known. */
  account?: Uuid | undefined;
};

/** The client of a password attempt: its address, and the headers that the session stores. */
export type ClientInfo = { address: string; headers: Headers };

export const toUserResponse = ({ id, ...user }: User) => ({ id: encodeId("user", id), ...user });

type LibraryUser = User & { address?: string | null | undefined };

const toUser = ({ id, email, name, address }: LibraryUser): User => ({
  id,
  email: address ?? email,
  name,
});

export const notSignedIn = (): ApiError => new ApiError("unauthorized", "Sign in first.");

/**
 * Replaces the library's errors: an internal failure by `unavailable`, a rejection by `toError`.
 */
async function translateErrors<T>(result: Promise<T>, toError?: () => ApiError): Promise<T> {
  try {
    return await result;
  } catch (error) {
    if (!isAPIError(error)) throw error;
    if (error.statusCode >= 500) throw unavailable(error);
    if (toError !== undefined) throw toError();
    throw error;
  }
}
