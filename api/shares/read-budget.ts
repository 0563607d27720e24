/**
 * How many statistics the readers of one share may have computed. The named periods in the share's
 * own time zone are few and cached, so they are always read, also on credit. Other ranges and zones
 * are read only while something is left. So over time a share never costs more than its named
 * periods do, and who tries many ranges locks nobody out of those.
 */
import { LRUCache } from "lru-cache";

import { PERIODS } from "../../shared/contracts/periods.ts";

/** What is earned per minute: as many reads as the named periods take when their cache expires. */
const EARNED_PER_MINUTE = PERIODS.length;

/** Maximum savings, for somebody who tries a few ranges in a row; also the maximum debt. */
const SAVED_MAX = 20;

/** Maximum shares remembered; the least recently read one starts again with all savings. */
const SHARES_MAX = 10_000;

type Account = { saved: number; at: number };

export function createReadBudget(now: () => number = Date.now) {
  const accounts = new LRUCache<string, Account>({ max: SHARES_MAX });

  function open(share: string): Account {
    const { saved, at } = accounts.get(share) ?? { saved: SAVED_MAX, at: now() };
    const earned = (Math.max(0, now() - at) / 60_000) * EARNED_PER_MINUTE;
    const account = { saved: Math.min(SAVED_MAX, saved + earned), at: now() };
    accounts.set(share, account);
    return account;
  }

  return {
    /** Pays for a read that is always made. */
    charge(share: string): void {
      const account = open(share);
      account.saved = Math.max(-SAVED_MAX, account.saved - 1);
    },

    /** Pays for a read if it can be paid; returns 0, or the seconds after which it can. */
    tryCharge(share: string): number {
      const account = open(share);
      if (account.saved < 1) {
        return Math.ceil(((1 - account.saved) / EARNED_PER_MINUTE) * 60);
      }
      account.saved -= 1;
      return 0;
    },
  };
}
