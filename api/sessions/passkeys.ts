/**
 * Passkeys (WebAuthn): each signs its user in alone, because an authenticator has asked for a
 * fingerprint, a face or a PIN before it answers. Better Auth checks what it answers.
 */
import * as z from "zod";

import type { Uuid } from "../../shared/ids.ts";
import { ApiError, notFound } from "../http/errors.ts";
import type { Session } from "../http/principal.ts";
import type { Sql } from "../postgres.ts";
import { type Attempts, type ClientInfo, recordFactorChange, recordSignIn } from "./attempts.ts";
import { type AuthLibrary, translateErrors } from "./better-auth.ts";
import type { PasskeyAnswer, PasskeyAttestation } from "./model.ts";
import type { PasswordRules } from "./password-rules.ts";
import { wrongPassword } from "./second-factor.ts";
import { isRefusal, onlyChallenge } from "./service.ts";
import { deleteSession } from "./sql.ts";

/** Passkeys of a user: more than anybody has devices. */
const PASSKEYS_MAX = 20;

export type PasskeyRow = { id: Uuid; name: string; created_at: Date };

/** Options of the browser's call, as JSON, and the cookie that its answer needs. */
export type Challenge = { options: Record<string, unknown>; cookies: string[] };

/** Functions that return cookies return whole `Set-Cookie` values for the response. */
export class Passkeys {
  readonly #sql: Sql;
  readonly #library: AuthLibrary;
  readonly #attempts: Attempts;
  readonly #rules: PasswordRules;

  constructor(sql: Sql, library: AuthLibrary, attempts: Attempts, rules: PasswordRules) {
    this.#sql = sql;
    this.#library = library;
    this.#attempts = attempts;
    this.#rules = rules;
  }

  /** Lists the user's passkeys, the oldest first. */
  list({ user }: Session): Promise<PasskeyRow[]> {
    return this.#sql<PasskeyRow[]>`
      select id, name, created_at from passkeys where user_id = ${user.id} order by created_at, id`;
  }

  /** Begins to add one. Throws `invalid_request` for a wrong password, and beyond the most. */
  async begin(session: Session, password: string, client: ClientInfo): Promise<Challenge> {
    await this.#confirm(session, password, client);
    if ((await this.list(session)).length >= PASSKEYS_MAX)
      throw new ApiError("invalid_request", "You have too many passkeys: remove one first.");
    const { headers, response } = await translateErrors(
      this.#library.api.generatePasskeyRegistrationOptions({
        headers: client.headers,
        returnHeaders: true,
      }),
    );
    return { options: optionsSchema.parse(response), cookies: headers.getSetCookie() };
  }

  /** Adds what the authenticator has made. Throws `invalid_request`. */
  async add(
    session: Session,
    { response, name }: { response: PasskeyAttestation; name: string },
    client: ClientInfo,
  ): Promise<void> {
    const { headers } = client;
    await translateErrors(
      this.#library.api.verifyPasskeyRegistration({ body: { response, name }, headers }),
      notAdded,
    );
    await recordFactorChange(this.#sql, session, client, "passkey added");
  }

  /** Removes a passkey. Throws `invalid_request` for a wrong password, and `not_found`. */
  async remove(
    session: Session,
    id: Uuid | undefined,
    password: string,
    client: ClientInfo,
  ): Promise<void> {
    await this.#confirm(session, password, client);
    const { count } = await this.#sql`
      delete from passkeys where id = ${id ?? null} and user_id = ${session.user.id}`;
    if (count === 0) throw notFound("passkey");
    await recordFactorChange(this.#sql, session, client, "passkey removed");
  }

  /** Begins a sign-in with any passkey of the browser's. */
  async challenge({ headers }: ClientInfo): Promise<Challenge> {
    const made = await translateErrors(
      this.#library.api.generatePasskeyAuthenticationOptions({
        headers: onlyChallenge(headers),
        returnHeaders: true,
      }),
    );
    const options = { ...optionsSchema.parse(made.response), userVerification: "required" };
    return { options, cookies: made.headers.getSetCookie() };
  }

  /** Signs in the user of a passkey. Throws `unauthorized`. */
  async signIn(response: PasskeyAnswer, { headers, origin }: ClientInfo): Promise<string[]> {
    const [owner] = await this.#sql<{ user_id: Uuid }[]>`
      select user_id from passkeys where credential_id = ${response.id}`;
    const record = (type: "session.started" | "session.refused") =>
      recordSignIn(this.#sql, type, { userId: owner?.user_id, method: "passkey", origin });
    const verified = await translateErrors(
      this.#library.api.verifyPasskeyAuthentication({
        body: { response },
        headers: onlyChallenge(headers),
        returnHeaders: true,
      }),
      notAccepted,
    ).catch(async (error: unknown) => {
      if (isRefusal(error)) await record("session.refused");
      throw error;
    });
    const { session, user } = signedIn.parse(verified.response);
    const isAllowed = this.#rules.isAllowed(user.email);
    if (!isAllowed) await deleteSession(this.#sql, session.token);
    await record(isAllowed ? "session.started" : "session.refused");
    if (!isAllowed) throw notAccepted();
    return verified.headers.getSetCookie();
  }

  /** A user who changes how they sign in enters their password. */
  async #confirm({ user }: Session, password: string, client: ClientInfo): Promise<void> {
    const { headers } = client;
    await this.#attempts.make(user.email, client, () =>
      translateErrors(
        this.#library.api.verifyPassword({ body: { password }, headers }),
        wrongPassword,
      ),
    );
  }
}

const optionsSchema = z.record(z.string(), z.unknown());

const signedIn = z.object({
  session: z.object({ token: z.string() }),
  user: z.object({ email: z.string() }),
});

const notAdded = (): ApiError =>
  new ApiError("invalid_request", "The passkey could not be added. Try again.");

const notAccepted = (): ApiError =>
  new ApiError("unauthorized", "The passkey is not known here, or it took too long.");
