/**
 * Signing in and out, and looking up sessions. Better Auth checks the passwords and manages the
 * sessions.
 */
import type { Auth } from "better-auth";
import { isAPIError } from "better-auth/api";

import { encodeId, type Uuid } from "../../shared/ids.ts";
import { recordOfUser } from "../events/record.ts";
import { ApiError, unavailable } from "../http/errors.ts";
import type { Actor, Origin, Session, User } from "../http/principal.ts";
import { type KeyWindow, rateLimited } from "../limits/windows.ts";
import type { Sql } from "../postgres.ts";
import type { Attempt, Attempts } from "./attempts.ts";
import type { DeviceCookies } from "./device-cookie.ts";
import type { PasswordStrength } from "./password-strength.ts";
import {
  countUnknownSignIn,
  type Credentials,
  deleteResets,
  deleteSessions,
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
    ).catch(async (error: unknown) => {
      if (error instanceof ApiError && error.reason === "unauthorized")
        await this.#recordSignIn("session.refused", user?.id, client);
      throw error;
    });
    // Created at this moment: without the attempt of a known user it is not signed in.
    if (user === undefined) throw wrongCredentials();
    // Whoever sets a new password meanwhile has ended the sessions that there were.
    if (await endIfPasswordChanged(this.#sql, response.token, user)) throw wrongCredentials();
    // Nobody has the session's token before it is recorded.
    await this.#recordSignIn("session.started", user.id, client);
    return [...headers.getSetCookie(), await this.#succeed(attempt, user, client.headers)];
  }

  /** Ends a session, or every session of its user; the library only clears the cookies. */
  async signOut(session: Session, client: ClientInfo, everywhere = false): Promise<string[]> {
    const { id, user } = session;
    await this.#sql.begin(async (sql) => {
      const sessions = await deleteSessions(sql, user.id, everywhere ? undefined : id);
      await recordOfUser(sql, user.id, actorOf(user.id, client), "session.ended", { sessions });
    });
    const { headers } = client;
    const response = await translateErrors(
      this.#library.api.signOut({ headers, returnHeaders: true }),
    );
    return response.headers.getSetCookie();
  }

  /** Changes the password, ends every other session, and continues this one under a new token. */
  async changePassword(
    { user: { id, email, name } }: Session,
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
    await this.#sql.begin(async (sql) => {
      await deleteResets(sql, user.id);
      await recordOfUser(sql, id, actorOf(id, client), "user.password_changed");
    });
    return [...headers.getSetCookie(), await this.#succeed(attempt, user, client.headers)];
  }

  /** Records a sign-in with a password; for an address of nobody, a count takes as long. */
  async #recordSignIn(
    type: "session.started" | "session.refused",
    userId: Uuid | undefined,
    client: ClientInfo,
  ): Promise<void> {
    await this.#sql.begin((sql) =>
      userId === undefined
        ? countUnknownSignIn(sql)
        : recordOfUser(sql, userId, actorOf(userId, client), type, { method: "password" }),
    );
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

/**
 * The client of a password attempt: its address, what the ledger keeps of that, and the headers
 * that the session stores.
 */
export type ClientInfo = { address: string; origin: Origin; headers: Headers };

const actorOf = (id: Uuid, { origin }: ClientInfo): Actor => ({ type: "user", id, origin });

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
