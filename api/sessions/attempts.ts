/**
 * Limits on password attempts, shared by all API processes. On a device on which the user has
 * signed in before, only that device's attempts count, so that guesses made elsewhere do not lock
 * the user out. Elsewhere, attempts count by network, by site and by user. The user's attempts from
 * this network are checked before those from everywhere, so that one network cannot exhaust the
 * user's limit. The keys of the windows are stored only as keyed hashes.
 */
import { createHmac } from "node:crypto";

import { addressGroups } from "../../shared/address-group.ts";
import { WINDOWS as BUDGETS } from "../../shared/budgets.ts";
import { rateLimited } from "../http/rate-limit.ts";
import { KeyWindow } from "../limits/windows.ts";
import type { Sql, Transaction } from "../postgres.ts";
import { consumeAttempt, refundAttempt } from "./sql.ts";

const SECONDS = 900;

const WINDOWS = {
  /** One network, for all users. */
  address: { limit: 30, seconds: SECONDS },
  /** One IPv6 site, which has many networks: three times as many. */
  site: { limit: 90, seconds: SECONDS },
  /** One network, for one user: half of the user's limit. */
  "user from here": { limit: 5, seconds: SECONDS },
  user: { limit: 10, seconds: SECONDS },
  device: { limit: 10, seconds: SECONDS },
} as const;

type WindowName = keyof typeof WINDOWS;

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
    correctPasswords: { limit: number; seconds: number } = BUDGETS.correct_passwords,
  ) {
    this.#sql = sql;
    this.#secret = secret;
    this.correct = new KeyWindow("correct_passwords", correctPasswords);
  }

  /** Consumes an attempt; throws `rate_limited` when a window is exhausted. */
  async consume(attempt: Attempt): Promise<void> {
    // One after another: an attempt that a narrow window rejects is not consumed from a wider one.
    for (const [name, key] of listWindows(attempt)) {
      const { limit, seconds } = WINDOWS[name];
      const state = await consumeAttempt(this.#sql, this.#hash(name, key), WINDOWS[name]);
      if (state.used > limit)
        throw rateLimited(
          { name, limit, seconds, used: limit, resetsAt: state.resets_ms },
          state.now_ms,
        );
    }
  }

  /**
   * Counts a request for a link to set a new password of an address, in lower case; throws
   * `rate_limited`. It is written for every address, so that no address takes longer than others.
   */
  async consumeReset(sql: Transaction, address: string): Promise<void> {
    const { header, limit, seconds } = BUDGETS.password_resets_of_user;
    const key = this.#hash("password reset", address);
    const { used, resets_ms, now_ms } = await consumeAttempt(sql, key, { limit, seconds });
    if (used > limit)
      throw rateLimited({ name: header, limit, seconds, used: limit, resetsAt: resets_ms }, now_ms);
  }

  /** Gives this one attempt back after a correct password; what others have tried stays counted. */
  async refund(attempt: Attempt): Promise<void> {
    for (const [name, key] of listWindows(attempt))
      await refundAttempt(this.#sql, this.#hash(name, key));
  }

  #hash(name: WindowName | "password reset", key: string): Buffer {
    return createHmac("sha256", this.#secret).update(`${name}\n${key}`).digest();
  }
}

/** The windows in which an attempt counts, each with its key. */
function listWindows({ address, user, device }: Attempt): [WindowName, string][] {
  if (device !== undefined) return [["device", `${user}\n${device}`]];
  const { network, site } = addressGroups(address);
  return [
    ["address", network],
    ...(site === network ? [] : [["site", site] satisfies [WindowName, string]]),
    ["user from here", `${network}\n${user}`],
    ["user", user],
  ];
}
