/**
 * Signs of life of an owner that does something long, like an insert into a busy ClickHouse: its next batch is full
 * then, so it fetches nothing, and another worker would take over, which makes ClickHouse busier still. It appends its
 * claim again, which means the same as once.
 */
import type { BatchLog, Claim } from "./entries.ts";

const RENEW_MS = 2_000;

/** An owner whose claim was appended since then is at work. */
export const RENEWED_MS = 6_000;

/** How long an owner is given for one thing; another worker may be able to do what this one cannot. */
const BUSY_MAX_MS = 60_000;

/** Does something that may take long, and renews the claim meanwhile. */
export async function renewWhile<T>(
  log: Pick<BatchLog, "claim">,
  claim: Claim,
  work: () => Promise<T>,
  renewMs = RENEW_MS,
): Promise<T> {
  let left = BUSY_MAX_MS / renewMs;
  const timer = setInterval(() => {
    if (left-- <= 0) return clearInterval(timer);
    // Without it another worker may take over, which is safe.
    log.claim(claim).catch(() => undefined);
  }, renewMs);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}
