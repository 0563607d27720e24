/**
 * Limits on password attempts, shared by all API processes. On a device on which the user has
 * signed in before, only that device's attempts count, so that guesses made elsewhere do not lock
 * the user out. Elsewhere, attempts count by network, by site and by user. The user's attempts from
 * this network are checked before those from everywhere, so that one network cannot exhaust the
 * user's limit. The keys of the windows are stored only as keyed hashes.
 */
import { createHmac } from "node:crypto";

import { addressGroups } from "../../shared/addresses.ts";
import { WINDOWS } from "../../shared/budgets.ts";
import type { Uuid } from "../../shared/ids.ts";
import { KeyWindow, rateLimited } from "../limits/windows.ts";
import type { Sql, Transaction } from "../postgres.ts";

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
export type Attempt = { address: string; user: string; device: string | undefined };

export class Attempts {
  readonly #sql: Sql;
  readonly #secret: string;
  /** Correct passwords, by the user's id. */
  readonly correct: KeyWindow;

  /** `secret` hashes the keys of the windows. */
  constructor(
    sql: Sql,
    secret: string,
    correctPasswords: { limit: number; seconds: number } = WINDOWS.correct_passwords,
  ) {
    this.#sql = sql;
    this.#secret = secret;
    this.correct = new KeyWindow("correct_passwords", correctPasswords);
  }

  /** Consumes an attempt; throws `rate_limited` when a window is exhausted. */
  async consume(attempt: Attempt): Promise<void> {
    // One after another: an attempt that a narrow window refuses is not consumed from a wider one.
    for (const [name, key] of listWindows(attempt)) await this.#consume(this.#sql, name, key);
  }

  /**
   * Counts a request for a link to set a new password of an address, in lower case; throws
   * `rate_limited`. It is written for every address, so that no address takes longer than others.
   */
  async consumeReset(sql: Transaction, address: string): Promise<void> {
    await this.#consume(sql, "password_resets_of_user", address);
  }

  /** Gives this one attempt back after a correct password; what others have tried stays counted. */
  async refund(attempt: Attempt): Promise<void> {
    for (const [name, key] of listWindows(attempt)) await this.#refund(name, key);
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

/** Deletes windows that closed long ago, and counts of sign-ins of more than a year ago. */
export async function deleteExpiredAttempts(sql: Sql): Promise<void> {
  await sql`delete from unknown_sign_ins where day < now() - interval '400 days'`;
  await sql`delete from sign_in_windows where opened_at < clock_timestamp() - interval '1 hour'`;
}
