/**
 * Signing in and out, and looking up sessions. Better Auth checks passwords and codes, and manages
 * the sessions.
 */
import * as z from "zod";

import { encodeId, type Uuid } from "../../shared/ids.ts";
import { recordOfUser } from "../events/record.ts";
import { ApiError, notFound } from "../http/errors.ts";
import type { Session, User } from "../http/principal.ts";
import type { Sql } from "../postgres.ts";
import { type Attempts, type ClientInfo, recordOwn, recordSignIn, userActor } from "./attempts.ts";
import { type AuthLibrary, translateErrors } from "./better-auth.ts";
import type { PasswordRules } from "./password-rules.ts";
import { endResets } from "./resets.ts";
import { isTotp, isWrongCode, wrongCode, wrongPassword } from "./second-factor.ts";
import { deleteSession, endSessions, findUserByEmail, isPasswordCurrent } from "./sql.ts";

type SessionRow = {
  id: Uuid;
  user_agent: string | null;
  created_at: Date;
  updated_at: Date;
};

/** An ended session: with `url`, the browser goes there to end that of the provider. */
export type SignedOut = { cookies: string[]; url: string | undefined };

/** With whom some sign in. */
export interface Provider {
  /** Ends the session of a request; undefined if it has not, as the provider is not known yet. */
  signOut(headers: Headers): Promise<SignedOut | undefined>;
}

/** Functions that return cookies return whole `Set-Cookie` values for the response. */
export class SessionService {
  readonly #sql: Sql;
  readonly #library: AuthLibrary;
  readonly #attempts: Attempts;
  readonly #rules: PasswordRules;
  readonly #provider: Provider | undefined;

  constructor(
    sql: Sql,
    library: AuthLibrary,
    attempts: Attempts,
    rules: PasswordRules,
    provider: Provider | undefined,
  ) {
    this.#sql = sql;
    this.#library = library;
    this.#attempts = attempts;
    this.#rules = rules;
    this.#provider = provider;
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
    const { count } = await this.#sql`
      select from sessions where id = ${id} and expires_at > now()`;
    if (count === 0) throw notSignedIn();
  }

  /** Whether the user has a password; else they sign in with the provider. */
  async hasPassword({ user }: Session): Promise<boolean> {
    const credentials = await findUserByEmail(this.#sql, user.email);
    return typeof credentials?.password_hash === "string";
  }

  /** Lists where the user is signed in, the most recently seen first. */
  async devices({ id, user }: Session): Promise<(SessionRow & { current: boolean })[]> {
    const rows = await this.#sql<SessionRow[]>`
      select id, user_agent, created_at, updated_at from sessions
       where user_id = ${user.id} and expires_at > now()
       order by updated_at desc`;
    return rows.map((row) => ({ ...row, current: row.id === id }));
  }

  /** Ends a session of the user. Throws `not_found`. */
  async end({ user }: Session, id: Uuid | undefined, { origin }: ClientInfo): Promise<void> {
    await this.#sql.begin(async (sql) => {
      const sessions = id === undefined ? 0 : await endSessions(sql, user.id, { only: id });
      if (sessions === 0) throw notFound("session");
      const actor = userActor(user.id, origin);
      await recordOfUser(sql, user.id, actor, "session.ended", { sessions });
    });
  }

  /**
   * Signs in the user of an address; one with a second factor has then to send a code. Throws
   * `unauthorized` for a wrong e-mail address or password, after as much work for either, and
   * `rate_limited`.
   */
  async signIn({ email, password }: SignIn, client: ClientInfo): Promise<SignedIn> {
    const isAllowed = this.#rules.isAllowed(email);
    const { result, cookie } = await this.#attempts.make(email, client, async (user) => {
      // For an unknown address, the library hashes the password, as it does to compare it.
      const { headers, response } = await translateErrors(
        this.#library.api.signInEmail({
          body: { email: isAllowed ? email : NOBODY, password },
          headers: client.headers,
          returnHeaders: true,
        }),
        wrongCredentials,
      ).catch(async (error: unknown) => {
        if (isRefusal(error)) await this.#record("session.refused", user?.id, "password", client);
        throw error;
      });
      // Created at this moment: without the attempt of a known user it is not signed in.
      if (user === undefined) throw wrongCredentials();
      const token = tokenOf(response);
      // A new password that was set meanwhile has ended only the sessions before this one.
      if (!(await isPasswordCurrent(this.#sql, user))) {
        await deleteSession(this.#sql, token);
        throw wrongCredentials();
      }
      if (token !== undefined) await this.#record("session.started", user.id, "password", client);
      const cookies = headers.getSetCookie();
      return token === undefined
        ? { cookies: cookies.filter((cookie) => CHALLENGE.test(cookie)), needsCode: true }
        : { cookies, needsCode: false };
    });
    return { ...result, cookies: [...result.cookies, cookie] };
  }

  /**
   * Signs in who has entered the password, by a code of their app or a recovery code. Throws
   * `unauthorized` for a wrong code, or when it comes too late; and `rate_limited`.
   */
  async signInByCode(code: string, client: ClientInfo): Promise<string[]> {
    const method = isTotp(code) ? "password and code" : "password and recovery code";
    const { headers, response } = await this.#compareCode(code, method, client);
    const { token, user } = signedIn.parse(response);
    const credentials = await findUserByEmail(this.#sql, user.email);
    const isGood =
      credentials !== undefined &&
      // Somebody may have set another password since this browser has sent one.
      this.#attempts.isRecognized(client.headers, credentials) &&
      (await isPasswordCurrent(this.#sql, credentials)) &&
      (await this.#attempts.isFirstUse(user.id, code));
    if (!isGood) await deleteSession(this.#sql, token);
    await this.#record(isGood ? "session.started" : "session.refused", user.id, method, client);
    if (!isGood) throw wrongCode();
    return headers.getSetCookie();
  }

  /** Has the library compare a code, which counts as a wrong one unless it is right. */
  async #compareCode(code: string, method: string, client: ClientInfo) {
    const { api } = this.#library;
    const body = { code };
    const headers = onlyChallenge(client.headers);
    const userIds = await this.#findChallenged(challengeOf(client.headers));
    for (const userId of userIds) await this.#attempts.consumeCode(userId);
    let isWrong = false;
    try {
      return await translateErrors(
        isTotp(code)
          ? api.verifyTOTP({ body, headers, returnHeaders: true })
          : api.verifyBackupCode({ body, headers, returnHeaders: true }),
        (problem) => {
          isWrong = isWrongCode(problem);
          return wrongCode(problem);
        },
      );
    } catch (error) {
      if (isRefusal(error))
        for (const userId of userIds.length > 0 ? userIds : [undefined])
          await this.#record("session.refused", userId, method, client);
      throw error;
    } finally {
      if (!isWrong) for (const userId of userIds) await this.#attempts.refundCode(userId);
    }
  }

  /**
   * Who has entered the password, and has to send a code with these cookies: several users if there
   * are several, of which the library reads one.
   */
  async #findChallenged(cookies: string): Promise<Uuid[]> {
    const identifiers = [...cookies.matchAll(/(?<=two_factor=)2fa-[\w-]{1,100}/g)].map(
      ([one]) => one,
    );
    const rows = await this.#sql<{ id: Uuid }[]>`
      select distinct users.id from verifications join users on users.id::text = verifications.value
       where identifier = any (${identifiers}::text[])`;
    return rows.map(({ id }) => id);
  }

  #record(
    type: "session.started" | "session.refused",
    userId: Uuid | undefined,
    method: string,
    { origin }: ClientInfo,
  ): Promise<void> {
    return recordSignIn(this.#sql, type, { userId, method, origin });
  }

  /**
   * Ends a session, and with `everywhere` all others of its user. The library ends that of the
   * request, after it is recorded: with it goes what ends the provider's.
   */
  async signOut(
    { id, user }: Session,
    { headers, origin }: ClientInfo,
    everywhere = false,
  ): Promise<SignedOut> {
    await this.#sql.begin(async (sql) => {
      const others = everywhere ? await endSessions(sql, user.id, { except: id }) : 0;
      const actor = userActor(user.id, origin);
      await recordOfUser(sql, user.id, actor, "session.ended", { sessions: others + 1 });
    });
    const signedOut = await this.#provider?.signOut(headers);
    if (signedOut !== undefined) return signedOut;
    const response = await translateErrors(
      this.#library.api.signOut({ headers, returnHeaders: true }),
    );
    return { cookies: response.headers.getSetCookie(), url: undefined };
  }

  /** Changes the password, ends every other session, and continues this one under a new token. */
  async changePassword(
    { user: { email, name } }: Session,
    current: string,
    next: string,
    client: ClientInfo,
  ): Promise<string[]> {
    const { result: headers } = await this.#attempts.make(email, client, async () => {
      this.#rules.requireStrong(next, [email, name]);
      const changed = await translateErrors(
        this.#library.api.changePassword({
          body: { currentPassword: current, newPassword: next, revokeOtherSessions: true },
          headers: client.headers,
          returnHeaders: true,
        }),
        wrongPassword,
      );
      return changed.headers;
    });
    const user = await findUserByEmail(this.#sql, email);
    if (user === undefined) throw notSignedIn();
    await endResets(this.#sql, user.id);
    const { origin } = client;
    await recordOwn(this.#sql, "user.password_changed", { userId: user.id, origin, change: "own" });
    return [...headers.getSetCookie(), this.#attempts.recognize(client.headers, user)];
  }
}

/** An address that nobody has; its password takes as much work as another. */
const NOBODY = "nobody@localhost.invalid";

const wrongCredentials = (): ApiError =>
  new ApiError("unauthorized", "The e-mail address or the password is wrong.");

type SignIn = { email: string; password: string };

/** Whole `Set-Cookie` values, and whether they are worth a session only with a code. */
type SignedIn = { cookies: string[]; needsCode: boolean };

export const toUserResponse = ({ id, ...user }: User) => ({ id: encodeId("user", id), ...user });

const toSession = ({ session, user }: { session: { id: Uuid }; user: User }): Session => ({
  id: session.id,
  user: { id: user.id, email: user.email, name: user.name },
});

export const notSignedIn = (): ApiError =>
  new ApiError("unauthorized", "You are not signed in any more. Sign in, and try again.");

const signedIn = z.object({
  token: z.string(),
  user: z.object({ id: z.string(), email: z.string() }),
});

/** The token of the session that has begun; undefined if a code is asked for. */
const tokenOf = (response: unknown): string | undefined => signedIn.safeParse(response).data?.token;

/** The cookie between the two steps of a sign-in. */
const CHALLENGE = /^(?:__Secure-)?shorthop\.(?:two_factor|passkey)=/;

/** As browsers send them back: the library also reads one that names its sign-in in escapes. */
const SENT_CHALLENGE = /^(?:__Secure-)?shorthop\.(?:two_factor=2fa-[\w-]{1,100}\.|passkey=)/;

const challengeOf = (headers: Headers): string =>
  (headers.get("cookie") ?? "")
    .split(/;\s*/)
    .filter((pair) => SENT_CHALLENGE.test(pair))
    .join("; ");

/** Whether an error says that somebody may not sign in. */
export const isRefusal = (error: unknown): boolean =>
  error instanceof ApiError && error.reason === "unauthorized";

/** Leaves a browser's session out: the library would take the second step for one of its user. */
export function onlyChallenge(headers: Headers): Headers {
  const kept = new Headers(headers);
  kept.set("cookie", challengeOf(headers));
  return kept;
}
