/**
 * How many statistics the readers of one share may have computed. The named periods in the share's
 * own time zone are few and cached, so they are always read, also on credit. Other ranges and zones
 * are read only while something is left. So over time a share never costs more than its named
 * periods do, and who tries many ranges locks nobody out of those.
 */
import { PERIODS } from "../../shared/contracts/periods.ts";
import { MINUTE_MS } from "../../shared/durations.ts";
import { createCredit } from "../limits/credit.ts";

/** What is earned per minute: as many reads as the named periods take when their cache expires. */
const EARNED_PER_MINUTE = PERIODS.length;

/** Maximum savings, for somebody who tries a few ranges in a row; also the maximum debt. */
const SAVED_MAX = 20;

/** Maximum shares remembered; the least recently read one starts again with all savings. */
const SHARES_MAX = 10_000;

const TERMS = { most: SAVED_MAX, msPerUnit: MINUTE_MS / EARNED_PER_MINUTE };

export function createReadBudget(now?: () => number) {
  const credit = createCredit(SHARES_MAX, now);
  const charge = (share: string): void => credit.take(share, 1, TERMS, -SAVED_MAX);

  return {
    /** Pays for a read that is always made. */
    charge,

    /** Pays for a read if it can be paid; returns 0, or the seconds after which it can. */
    tryCharge(share: string): number {
      const waitMs = credit.waitMs(share, TERMS);
      if (waitMs === 0) charge(share);
      return Math.ceil(waitMs / 1_000);
    },
  };
}
