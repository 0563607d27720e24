/** Warns operators about link changes that wait to be published. */
import type { OutboxStats } from "./sql.ts";

/** The same threshold as the alert ShorthopOutboxOld. */
const WAITING_WARNING_SECONDS = 60;

/**
 * Describes how long the oldest change has been waiting, if that is too long. `now` is in
 * milliseconds.
 */
export function describeOutbox(
  { pending, oldest }: OutboxStats,
  now = Date.now(),
): string | undefined {
  if (oldest === null) return undefined;
  const seconds = Math.floor(now / 1_000 - oldest);
  if (seconds < WAITING_WARNING_SECONDS) return undefined;
  return `${pending} changes of links are not published, the oldest for ${seconds} s: redirectors serve these links as they were`;
}
