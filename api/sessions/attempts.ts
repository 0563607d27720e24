/**
 * Limits on password attempts, shared by all API processes. In a browser from which the user has
 * signed in before, only that browser's attempts count, so that guesses made elsewhere do not lock
 * the user out. Elsewhere, attempts count by network, by site and by e-mail address. The address's
 * attempts from this network are checked before those from everywhere, so that one network cannot
 * exhaust the user's limit. The keys of the windows are stored only as keyed hashes.
 */
import { createHmac } from "node:crypto";

import { addressGroups } from "../../shared/address-group.ts";
import { WINDOWS as BUDGETS } from "../../shared/budgets.ts";
import { rateLimited } from "../http/rate-limit.ts";
import { KeyWindow } from "../limits/windows.ts";
import type { Sql } from "../postgres.ts";
import { consumeAttempt, deleteAttempts, refundAttempt } from "./sql.ts";

const SECONDS = 900;

const WINDOWS = {
  /** One network, for all users. */
  address: { limit: 30, seconds: SECONDS },
  /** One IPv6 site, which has many networks: three times as many. */
  site: { limit: 90, seconds: SECONDS },
  /** One network, for one user: half of the user's limit. */
  "e-mail address from here": { limit: 5, seconds: SECONDS },
  email: { limit: 10, seconds: SECONDS },
  device: { limit: 10, seconds: SECONDS },
} as const;

type WindowName = keyof typeof WINDOWS;

/** Windows that count the attempts of several users. */
const SHARED: ReadonlySet<WindowName> = new Set(["address", "site"]);

/**
 * A password attempt: the client's address, the user's e-mail address, and the device id of a known
 * browser.
 */
export type Attempt = { address: string; email: string; device: string | undefined };

export type Attempts = ReturnType<typeof createAttempts>;

export function createAttempts(
  sql: Sql,
  secret: string,
  correctPasswords: { limit: number; seconds: number } = BUDGETS.correct_passwords,
) {
  const hashKey = ([name, key]: [WindowName, string]): Buffer =>
    createHmac("sha256", secret).update(`${name}\n${key}`).digest();

  async function consume(window: [WindowName, string]): Promise<void> {
    const [name] = window;
    const { limit, seconds } = WINDOWS[name];
    const state = await consumeAttempt(sql, hashKey(window), WINDOWS[name]);
    if (state.used <= limit) return;
    throw rateLimited(
      { name, limit, seconds, used: limit, resetsAt: state.resets_ms },
      state.now_ms,
    );
  }

  return {
    /** Correct passwords, by the user's id. */
    correct: new KeyWindow("correct_passwords", correctPasswords),

    /** Consumes an attempt; throws `rate_limited` when a window is exhausted. */
    async consume(attempt: Attempt): Promise<void> {
      // One after another: an attempt that a narrow window rejects is not consumed from a wider
      // one.
      for (const window of listWindows(attempt)) await consume(window);
    },

    /** Refunds the attempt after a correct password: this client has not been guessing. */
    async refund(attempt: Attempt): Promise<void> {
      for (const window of listWindows(attempt)) {
        const key = hashKey(window);
        // Shared windows also count other users' attempts, so only this attempt is refunded there.
        await (SHARED.has(window[0]) ? refundAttempt(sql, key) : deleteAttempts(sql, key));
      }
    },
  };
}

/** The windows in which an attempt counts, each with its key. */
function listWindows({ address, email, device }: Attempt): [WindowName, string][] {
  const user = email.toLowerCase();
  if (device !== undefined) return [["device", device]];
  const { network, site } = addressGroups(address);
  return [
    ["address", network],
    ...(site === network ? [] : [["site", site] satisfies [WindowName, string]]),
    ["e-mail address from here", `${network}\n${user}`],
    ["email", user],
  ];
}
