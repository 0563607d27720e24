/**
 * Signing in and out, and looking up sessions. Better Auth checks the passwords and manages the
 * sessions.
 */
import type { Auth } from "better-auth";
import { isAPIError } from "better-auth/api";

import { encodeId, type Uuid } from "../../shared/ids.ts";
import { ApiError, unavailable } from "../http/errors.ts";
import type { Session, User } from "../http/principal.ts";
import { type KeyWindow, rateLimited } from "../limits/windows.ts";
import type { Sql } from "../postgres.ts";
import type { Attempt, Attempts } from "./attempts.ts";
import type { DeviceCookies } from "./device-cookie.ts";
import type { PasswordStrength } from "./password-strength.ts";
import {
  type Credentials,
  deleteResets,
  endIfPasswordChanged,
  findUserByEmail,
  isSessionValid,
  listSessions,
  type SessionRow,
} from "./sql.ts";

/** Functions that return cookies return whole `Set-Cookie` values for the response. */
export class SessionService {
  readonly #sql: Sql;
  readonly #library: Auth;
  readonly #attempts: Attempts;
  readonly #devices: DeviceCookies;
  readonly #strength: PasswordStrength;

  constructor(
    sql: Sql,
    library: Auth,
    attempts: Attempts,
    devices: DeviceCookies,
    strength: PasswordStrength,
  ) {
    this.#sql = sql;
    this.#library = library;
    this.#attempts = attempts;
    this.#devices = devices;
    this.#strength = strength;
  }

  /** Finds the session of a request's cookie; throws `unauthorized` when there is none. */
  async find(headers: Headers): Promise<Session> {
    const found = await translateErrors(
      this.#library.api.getSession({ headers, query: { disableRefresh: true } }),
    );
    if (found === null) throw notSignedIn();
    return toSession(found);
  }

  /** Like `find`; extends a session that has not been extended for a day. */
  async refresh(headers: Headers): Promise<{ session: Session; cookies: string[] }> {
    const { response, headers: set } = await translateErrors(
      this.#library.api.getSession({ headers, returnHeaders: true }),
    );
    if (response === null) throw notSignedIn();
    return { session: toSession(response), cookies: set.getSetCookie() };
  }

  /** Throws `unauthorized` when a session that was found has ended. */
  async requireValid({ id }: Session): Promise<void> {
    if (!(await isSessionValid(this.#sql, id))) throw notSignedIn();
  }

  /** Lists where the user is signed in, the most recently seen first. */
  async devices({ id, user }: Session): Promise<(SessionRow & { current: boolean })[]> {
    const rows = await listSessions(this.#sql, user.id);
    return rows.map((row) => ({ ...row, current: row.id === id }));
  }

  /**
   * Signs in the user of an address. Throws `unauthorized` for a wrong e-mail address or password,
   * after as much work for either, and `rate_limited`.
   */
  async signIn({ email, password }: SignIn, client: ClientInfo): Promise<string[]> {
    const { user, attempt } = await this.#beginAttempt(email, client);
    // For an unknown address, the library hashes the password, as it does to compare it.
    const { headers, response } = await translateErrors(
      this.#library.api.signInEmail({
        body: { email, password },
        headers: client.headers,
        returnHeaders: true,
      }),
      wrongCredentials,
    );
    // Created at this moment: without the attempt of a known user it is not signed in.
    if (user === undefined) throw wrongCredentials();
    // Whoever sets a new password meanwhile has ended the sessions that there were.
    if (await endIfPasswordChanged(this.#sql, response.token, user)) throw wrongCredentials();
    return [...headers.getSetCookie(), await this.#succeed(attempt, user, client.headers)];
  }

  async signOut(headers: Headers): Promise<string[]> {
    const response = await translateErrors(
      this.#library.api.signOut({ headers, returnHeaders: true }),
    );
    return response.headers.getSetCookie();
  }

  /** Ends every session of the user, including this one. */
  async signOutEverywhere(headers: Headers): Promise<string[]> {
    await translateErrors(this.#library.api.revokeSessions({ headers }), notSignedIn);
    return await this.signOut(headers);
  }

  /** Changes the password, ends every other session, and continues this one under a new token. */
  async changePassword(
    { user: { email, name } }: Session,
    current: string,
    next: string,
    client: ClientInfo,
  ): Promise<string[]> {
    const { attempt } = await this.#beginAttempt(email, client);
    this.#strength.require(next, [email, name]);
    const { headers } = await translateErrors(
      this.#library.api.changePassword({
        body: { currentPassword: current, newPassword: next, revokeOtherSessions: true },
        headers: client.headers,
        returnHeaders: true,
      }),
      () => new ApiError("invalid_request", "The current password is wrong."),
    );
    const user = await findUserByEmail(this.#sql, email);
    if (user === undefined) throw notSignedIn();
    await deleteResets(this.#sql, user.id);
    return [...headers.getSetCookie(), await this.#succeed(attempt, user, client.headers)];
  }

  /** Consumes an attempt at the password of the user who has an address, or of nobody. */
  async #beginAttempt(email: string, { address, headers }: ClientInfo) {
    const user = await findUserByEmail(this.#sql, email);
    const attempt: Attempt = {
      address,
      user: user?.id ?? email.toLowerCase(),
      device: user === undefined ? undefined : this.#devices.find(headers, user),
    };
    await this.#attempts.consume(attempt);
    if (user !== undefined) requireUnexhausted(this.#attempts.correct, user.id);
    return { user, attempt };
  }

  /** Gives the attempt back, and returns a cookie by which the device is known from now on. */
  async #succeed(attempt: Attempt, user: Credentials, headers: Headers): Promise<string> {
    this.#attempts.correct.consume(user.id);
    await this.#attempts.refund(attempt);
    return this.#devices.issue(headers, user);
  }
}

const wrongCredentials = (): ApiError =>
  new ApiError("unauthorized", "The e-mail address or the password is wrong.");

function requireUnexhausted(correct: KeyWindow, user: Uuid): void {
  if (correct.exhausted(user)) throw rateLimited(correct.state(user), Date.now());
}

type SignIn = { email: string; password: string };

/** The client of a password attempt: its address, and the headers that the session stores. */
export type ClientInfo = { address: string; headers: Headers };

export const toUserResponse = ({ id, ...user }: User) => ({ id: encodeId("user", id), ...user });

const toSession = ({ session, user }: { session: { id: Uuid }; user: User }): Session => ({
  id: session.id,
  user: { id: user.id, email: user.email, name: user.name },
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
