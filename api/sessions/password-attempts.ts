/**
 * Attempts at users' passwords: each counts until the password was right, and the browser is known
 * from then on.
 */
import type { Uuid } from "../../shared/ids.ts";
import type { Origin } from "../http/principal.ts";
import { type KeyWindow, rateLimited } from "../limits/windows.ts";
import type { Sql } from "../postgres.ts";
import type { Attempt, Attempts } from "./attempts.ts";
import type { DeviceCookies } from "./device-cookie.ts";
import { type Credentials, findUserByEmail } from "./sql.ts";

/**
 * The client of an attempt: its address, what the ledger keeps of where it is, and the headers that
 * the library may read.
 */
export type ClientInfo = { address: string; origin: Origin; headers: Headers };

export class PasswordAttempts {
  readonly #sql: Sql;
  readonly #attempts: Attempts;
  readonly #devices: DeviceCookies;

  constructor(sql: Sql, attempts: Attempts, devices: DeviceCookies) {
    this.#sql = sql;
    this.#attempts = attempts;
    this.#devices = devices;
  }

  /**
   * Runs what compares the password of the user who has an address, or of nobody, and throws if it
   * is wrong. Returns what it returns, with a cookie by which the browser is known from now on.
   * Throws `rate_limited` without running it.
   */
  async make<Result>(
    email: string,
    { address, headers }: ClientInfo,
    compare: (user: Credentials | undefined) => Promise<Result>,
  ): Promise<{ result: Result; cookie: string }> {
    const user = await findUserByEmail(this.#sql, email);
    const attempt: Attempt = {
      address,
      user: user?.id ?? email.toLowerCase(),
      device: user === undefined ? undefined : this.#devices.find(headers, user),
    };
    await this.#attempts.consume(attempt);
    if (user !== undefined) requireUnexhausted(this.#attempts.correct, user.id);
    const result = await compare(user);
    if (user === undefined) throw new Error("Nobody's password is right.");
    this.#attempts.correct.consume(user.id);
    await this.#attempts.refund(attempt);
    return { result, cookie: this.recognize(headers, user) };
  }

  /** The cookie by which a browser is known as long as the user has this password. */
  recognize(headers: Headers, user: Credentials): string {
    return this.#devices.issue(headers, user);
  }

  /** Whether the browser has such a cookie: the user has signed in there with this password. */
  isRecognized(headers: Headers, user: Credentials): boolean {
    return this.#devices.find(headers, user) !== undefined;
  }
}

function requireUnexhausted(correct: KeyWindow, user: Uuid): void {
  if (correct.exhausted(user)) throw rateLimited(correct.state(user), Date.now());
}
