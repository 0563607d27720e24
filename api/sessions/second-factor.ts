/**
 * A user's second factor: codes of an app, and recovery codes that each work once. Better Auth has
 * the secrets; every change takes the password.
 */
import QRCode from "qrcode";
import * as z from "zod";

import type { Enrolment, SecondFactorState } from "../../shared/contracts/user-responses.ts";
import type { Uuid } from "../../shared/ids.ts";
import { ApiError } from "../http/errors.ts";
import type { Session } from "../http/principal.ts";
import type { Sql } from "../postgres.ts";
import { type Attempts, type ClientInfo, recordFactorChange } from "./attempts.ts";
import { type AuthLibrary, translateErrors } from "./better-auth.ts";
import { endSessions } from "./sql.ts";

/** Functions that return cookies return whole `Set-Cookie` values for the response. */
export class SecondFactors {
  readonly #sql: Sql;
  readonly #library: AuthLibrary;
  readonly #attempts: Attempts;

  constructor(sql: Sql, library: AuthLibrary, attempts: Attempts) {
    this.#sql = sql;
    this.#library = library;
    this.#attempts = attempts;
  }

  /** Whether the user has a second factor, and how many recovery codes are left. */
  async state({ user }: Session): Promise<SecondFactorState> {
    if (!(await this.#isEnabled(user.id))) return { enabled: false, recovery_codes_left: 0 };
    const codes = await translateErrors(
      this.#library.api.viewBackupCodes({ body: { userId: user.id } }),
    );
    return { enabled: true, recovery_codes_left: codes.backupCodes.length };
  }

  /**
   * Makes a secret and recovery codes, which count as soon as a code of the app has come. Throws
   * `invalid_request` when there is a second factor.
   */
  async begin(session: Session, password: string, client: ClientInfo): Promise<Enrolment> {
    const { headers } = client;
    const made = await this.#change(session, client, () =>
      this.#library.api.enableTwoFactor({ body: { password }, headers }),
    );
    const { totpURI: uri, backupCodes: recovery_codes } = enrolment.parse(made.result);
    const svg = await QRCode.toString(uri, { type: "svg", errorCorrectionLevel: "M", margin: 2 });
    const qr = `data:image/svg+xml;base64,${Buffer.from(svg).toString("base64")}`;
    return { uri, qr, recovery_codes };
  }

  /**
   * From now on the user signs in with a code, too; other sessions, which a password alone has
   * begun, end. Throws `invalid_request` for a wrong code, and when there is a second factor.
   */
  async confirm(session: Session, code: string, client: ClientInfo): Promise<string[]> {
    const { headers } = client;
    // Otherwise a session alone would tell whether a code is right, as often as it asks.
    if (await this.#isEnabled(session.user.id)) throw refusalOf("");
    const confirmed = await translateErrors(
      this.#library.api.verifyTOTP({ body: { code }, headers, returnHeaders: true }),
      () => new ApiError("invalid_request", WRONG_CODE),
    );
    const cookies = confirmed.headers.getSetCookie();
    await this.#endOthers(session, cookies);
    await recordFactorChange(this.#sql, session, client, "set up");
    return cookies;
  }

  /** Ends all sessions of a user but the one that these cookies are of. */
  async #endOthers({ user }: Session, cookies: readonly string[]): Promise<void> {
    const cookie = cookies.map((one) => one.split(";", 1).join("")).join("; ");
    const kept = await translateErrors(
      this.#library.api.getSession({
        headers: new Headers({ cookie }),
        query: { disableRefresh: true },
      }),
    );
    await this.#sql.begin((sql) =>
      endSessions(sql, user.id, kept === null ? {} : { except: kept.session.id }),
    );
  }

  /** Makes other recovery codes. */
  async replaceCodes(session: Session, password: string, client: ClientInfo): Promise<string[]> {
    const { headers } = client;
    const { result } = await this.#change(session, client, () =>
      this.#library.api.generateBackupCodes({ body: { password }, headers }),
    );
    await recordFactorChange(this.#sql, session, client, "other recovery codes");
    return result.backupCodes;
  }

  async remove(session: Session, password: string, client: ClientInfo): Promise<string[]> {
    const { headers } = client;
    const { result, cookie } = await this.#change(session, client, () =>
      this.#library.api.disableTwoFactor({ body: { password }, headers, returnHeaders: true }),
    );
    await recordFactorChange(this.#sql, session, client, "removed");
    return [...result.headers.getSetCookie(), cookie];
  }

  async #isEnabled(userId: Uuid): Promise<boolean> {
    const { count } = await this.#sql`
      select from users where id = ${userId} and has_second_factor`;
    return count > 0;
  }

  #change<Result>({ user }: Session, client: ClientInfo, work: () => Promise<Result>) {
    return this.#attempts.make(user.email, client, () => translateErrors(work(), refusalOf));
  }
}

const enrolment = z.object({ totpURI: z.string(), backupCodes: z.array(z.string()) });

/** Whether a code is one of an app; recovery codes have letters. */
export const isTotp = (code: string): boolean => /^\d+$/.test(code);

export const wrongPassword = (): ApiError =>
  new ApiError("invalid_request", "The current password is wrong.");

const refusalOf = (code: string): ApiError =>
  code === "INVALID_PASSWORD"
    ? wrongPassword()
    : new ApiError("invalid_request", "The second factor has been changed meanwhile.");

const WRONG_CODE = "The code is wrong, or has been used.";

/** Time until codes are accepted again after many wrong ones in a row, as in the library. */
const LOCKED_SECONDS = 900;

/** Whether the library has compared a code, by the code of its error. */
export const isWrongCode = (code: string): boolean =>
  ["INVALID_CODE", "INVALID_BACKUP_CODE"].includes(code);

/** The error of a sign-in that its code did not complete, by the code of the library's error. */
export function wrongCode(code = ""): ApiError {
  if (code === "ACCOUNT_TEMPORARILY_LOCKED")
    return new ApiError("rate_limited", "Too many codes were wrong. Try again later.", {
      retryAfterSeconds: LOCKED_SECONDS,
    });
  const isOver = ["INVALID_TWO_FACTOR_COOKIE", "TOO_MANY_ATTEMPTS_REQUEST_NEW_CODE"].includes(code);
  return new ApiError(
    "unauthorized",
    isOver ? "Sign in again: it took too long, or too many codes were wrong." : WRONG_CODE,
  );
}
