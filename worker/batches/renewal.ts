/**
 * Renews an owner's claim during long work, such as an insert into a busy ClickHouse. The next
 * batch is full then, so the owner fetches nothing, and another worker would take over, which would
 * make ClickHouse busier still. To renew a claim is to append it again, which has the same meaning
 * as once.
 */
import type { BatchLog, Claim } from "./entries.ts";

const RENEW_MS = 2_000;

/** An owner whose claim was appended within this time is at work. */
export const RENEWED_MS = 6_000;

/**
 * Longest time for which a claim is renewed: another worker may be able to do what this one cannot.
 */
const BUSY_MAX_MS = 60_000;

/** Does work that may take long, and renews the claim meanwhile. */
export async function renewWhile<T>(
  log: Pick<BatchLog, "claim">,
  claim: Claim,
  work: () => Promise<T>,
  renewMs = RENEW_MS,
): Promise<T> {
  let left = BUSY_MAX_MS / renewMs;
  const timer = setInterval(() => {
    if (left-- <= 0) return clearInterval(timer);
    // If this fails, another worker may take over, which is safe.
    log.claim(claim).catch(() => undefined);
  }, renewMs);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}
