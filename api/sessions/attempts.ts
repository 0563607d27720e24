/**
 * Attempts at passwords, with limits that all API processes share, and their records in the ledger.
 * On a device on which the user has signed in before, only that device's attempts count, so that
 * guesses made elsewhere do not lock the user out. Elsewhere, attempts count by network, by site
 * and by user. The user's attempts from this network are checked before those from everywhere, so
 * that one network cannot exhaust the user's limit. The keys of the windows are stored only as
 * keyed hashes.
 */
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";

import { addressGroups } from "../../shared/addresses.ts";
import { WINDOWS } from "../../shared/budgets.ts";
import { DAY_SECONDS } from "../../shared/durations.ts";
import type { Uuid } from "../../shared/ids.ts";
import { recordOfUser } from "../events/record.ts";
import type { Actor, Origin, Session } from "../http/principal.ts";
import { KeyWindow, rateLimited } from "../limits/windows.ts";
import type { Sql, Transaction } from "../postgres.ts";
import { type Credentials, findUserByEmail } from "./sql.ts";

type AttemptWindow =
  | "passwords_of_network"
  | "passwords_of_site"
  | "passwords_of_user_and_network"
  | "passwords_of_user"
  | "passwords_of_device";

/**
 * A password attempt: the client's address; whose password is tried, by the user's id, or by the
 * e-mail address if nobody has it, so that both are limited alike; and the id of a known device.
 */
type Attempt = { address: string; user: string; device: string | undefined };

/**
 * The client of an attempt: its address, what the ledger keeps of where it is, and the headers that
 * the library may read.
 */
export type ClientInfo = { address: string; origin: Origin; headers: Headers };

/** Attempts at users' passwords and codes: each counts until it was right. */
export class Attempts {
  readonly #sql: Sql;
  readonly #secret: string;
  readonly #devices: DeviceCookies;
  /** Correct passwords, by the user's id. */
  readonly #correct: KeyWindow;

  /** `secret` hashes the keys of the windows. */
  constructor(
    sql: Sql,
    secret: string,
    devices: DeviceCookies,
    correctPasswords: { limit: number; seconds: number } = WINDOWS.correct_passwords,
  ) {
    this.#sql = sql;
    this.#secret = secret;
    this.#devices = devices;
    this.#correct = new KeyWindow("correct_passwords", correctPasswords);
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
    const device = user === undefined ? undefined : this.#devices.find(headers, user);
    const windows = listWindows({ address, user: user?.id ?? email.toLowerCase(), device });
    // One after another: an attempt that a narrow window refuses is not consumed from a wider one.
    for (const [name, key] of windows) await this.#consume(this.#sql, name, key);
    if (user !== undefined) requireUnexhausted(this.#correct, user.id);
    const result = await compare(user);
    if (user === undefined) throw new Error("Nobody's password is right.");
    this.#correct.consume(user.id);
    // What others have tried stays counted.
    for (const [name, key] of windows) await this.#refund(name, key);
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

  /**
   * Counts a request for a link to set a new password of an address, in lower case; throws
   * `rate_limited`. It is written for every address, so that no address takes longer than others.
   */
  async consumeReset(sql: Transaction, address: string): Promise<void> {
    await this.#consume(sql, "password_resets_of_user", address);
  }

  /**
   * Counts a user's code as a wrong one, before it is compared: so many that come at once are
   * counted, too. Throws `rate_limited`.
   */
  async consumeCode(userId: Uuid): Promise<void> {
    await this.#consume(this.#sql, "wrong_codes_of_user", userId);
  }

  /** Gives a code back that was right, or that was not compared. */
  async refundCode(userId: Uuid): Promise<void> {
    await this.#refund("wrong_codes_of_user", userId);
  }

  async #refund(name: string, key: string): Promise<void> {
    await this.#sql`
      update sign_in_windows set spent = greatest(spent - 1, 0) where key = ${this.#hash(name, key)}`;
  }

  /** Whether a right code of a user's app is used for the first time while it is right. */
  async isFirstUse(userId: Uuid, code: string): Promise<boolean> {
    const key = this.#hash("second_factor_codes", `${userId}\n${code}`);
    const window = WINDOWS.second_factor_codes;
    return (await consumeAttempt(this.#sql, key, window)).spent <= window.limit;
  }

  async #consume(
    sql: Sql | Transaction,
    name: AttemptWindow | "password_resets_of_user" | "wrong_codes_of_user",
    key: string,
  ): Promise<void> {
    const { header, limit, seconds } = WINDOWS[name];
    const { spent, resets_ms, now_ms } = await consumeAttempt(sql, this.#hash(name, key), {
      limit,
      seconds,
    });
    if (spent > limit)
      throw rateLimited(
        { name: header, limit, seconds, spent: limit, resetsAt: resets_ms },
        now_ms,
      );
  }

  #hash(name: string, key: string): Buffer {
    return createHmac("sha256", this.#secret).update(`${name}\n${key}`).digest();
  }
}

/** The windows in which an attempt counts, each with its key. */
function listWindows({ address, user, device }: Attempt): [AttemptWindow, string][] {
  if (device !== undefined) return [["passwords_of_device", `${user}\n${device}`]];
  const { network, site } = addressGroups(address);
  return [
    ["passwords_of_network", network],
    ...(site === network ? [] : [["passwords_of_site", site] satisfies [AttemptWindow, string]]),
    ["passwords_of_user_and_network", `${network}\n${user}`],
    ["passwords_of_user", user],
  ];
}

type WindowState = { spent: number; resets_ms: number; now_ms: number };

/**
 * Consumes an attempt from the window of a key, and opens the window if it is closed. Beyond
 * `limit` it counts one more, so `spent > limit` means that the attempt is refused.
 */
async function consumeAttempt(
  sql: Sql | Transaction,
  key: Buffer,
  { limit, seconds }: { limit: number; seconds: number },
): Promise<WindowState> {
  const [row] = await sql<[WindowState]>`
    insert into sign_in_windows as w (key, opened_at, spent)
    values (${key}, clock_timestamp(), 1)
    on conflict (key) do update set
      opened_at = case when w.opened_at > clock_timestamp() - make_interval(secs => ${seconds})
                       then w.opened_at else clock_timestamp() end,
      spent = case when w.opened_at > clock_timestamp() - make_interval(secs => ${seconds})
                   then least(w.spent, ${limit}) + 1 else 1 end
    returning spent, extract(epoch from opened_at)::float8 * 1000 + ${seconds * 1_000} as resets_ms,
              extract(epoch from clock_timestamp())::float8 * 1000 as now_ms`;
  return row;
}

function requireUnexhausted(correct: KeyWindow, user: Uuid): void {
  if (correct.isExhausted(user)) throw rateLimited(correct.state(user), Date.now());
}

const DEVICE_COOKIE = "shorthop.device";

/** A browser is recognized for half a year after the user's last sign-in from it. */
const DEVICE_SECONDS = 180 * DAY_SECONDS;

const DEVICE_ID_BYTES = 16;

/** Id, expiry in Unix seconds and signature. */
const DEVICE_IN_HEADER = /(?:^|; ?)shorthop\.device=([\w-]{22})\.(\d{10,11})\.([\w-]{43})(?:;|$)/;

/**
 * Device cookies recognize a browser in which the user has signed in before (OWASP Authentication
 * Cheat Sheet, device cookies). A device cookie does not authenticate: signing in still takes the
 * password. It belongs to a user and their present password: one of an earlier password gives no
 * attempts of its own.
 */
export class DeviceCookies {
  readonly #secret: string;
  readonly #secure: boolean;

  /** `secret` signs the cookies; `secure` restricts them to https. */
  constructor(secret: string, secure: boolean) {
    this.#secret = secret;
    this.#secure = secure;
  }

  /** The id of the request's browser, if the user has signed in from it with this password. */
  find(headers: Headers, user: Credentials): string | undefined {
    const [, id = "", digits = "", signature = ""] =
      DEVICE_IN_HEADER.exec(headers.get("cookie") ?? "") ?? [];
    const expires = Number(digits);
    if (expires * 1_000 <= Date.now()) return undefined;
    const actual = Buffer.from(signature, "base64url");
    const expected = this.#sign(user, id, expires);
    return actual.length === expected.length && timingSafeEqual(actual, expected) ? id : undefined;
  }

  /**
   * The `Set-Cookie` value that lets the browser be recognized; a recognized browser keeps its id.
   */
  issue(headers: Headers, user: Credentials): string {
    const id = this.find(headers, user) ?? randomBytes(DEVICE_ID_BYTES).toString("base64url");
    const expires = Math.floor(Date.now() / 1_000) + DEVICE_SECONDS;
    const value = `${id}.${expires}.${this.#sign(user, id, expires).toString("base64url")}`;
    const attributes = `Max-Age=${DEVICE_SECONDS}; Path=/auth; HttpOnly; SameSite=Strict`;
    return `${DEVICE_COOKIE}=${value}; ${attributes}${this.#secure ? "; Secure" : ""}`;
  }

  #sign(user: Credentials, id: string, expires: number): Buffer {
    return createHmac("sha256", this.#secret)
      .update(`device\n${user.id}\n${user.password_hash ?? ""}\n${id}\n${expires}`)
      .digest();
  }
}

type SignIn = { userId: Uuid | undefined; method: string; origin: Origin };

/** A user as the actor of what they do from somewhere. */
export const userActor = (id: Uuid, origin: Origin): Actor => ({ type: "user", id, origin });

/**
 * Records a sign-in before the browser gets the session's token, or a refused one. As nobody, it is
 * counted by day (UTC), as strangers can make any number of them; that takes as long. It is not in
 * the transaction of the session: the library's are on connections of its own, on which no
 * statement of the ledger runs. A process that ends in between leaves a session whose token nobody
 * has.
 */
export const recordSignIn = (
  sql: Sql,
  type: "session.started" | "session.refused",
  { userId, method, origin }: SignIn,
): Promise<void> =>
  sql.begin(async (transaction) => {
    if (userId === undefined)
      await transaction`
        insert into unknown_sign_ins as counted (day, count) values ((now() at time zone 'utc')::date, 1)
        on conflict (day) do update set count = counted.count + 1`;
    else await recordOfUser(transaction, userId, userActor(userId, origin), type, { method });
  });

/** Records what a user has done to how they sign in. */
export const recordOwn = (
  sql: Sql,
  type: "user.password_changed" | "user.second_factor_changed",
  { userId, origin, change }: { userId: Uuid; origin: Origin; change: string },
): Promise<void> =>
  sql.begin((transaction) =>
    recordOfUser(transaction, userId, userActor(userId, origin), type, { change }),
  );

/** Records what a user has done to a second factor, or a passkey. */
export const recordFactorChange = (
  sql: Sql,
  { user }: Session,
  { origin }: ClientInfo,
  change: string,
): Promise<void> =>
  recordOwn(sql, "user.second_factor_changed", { userId: user.id, origin, change });
