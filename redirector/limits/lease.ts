/**
 * A redirector's changes to the ledger of a limit, as pure functions. The redirector's own count
 * always replaces the ledger's, so a ledger that was rolled back is corrected, and a repeated
 * change has no effect.
 */
import {
  type ClickLimit,
  ENTRIES_MAX,
  leasedClicks,
  type LeaseEntry,
  type Ledger,
  usedClicks,
} from "../../shared/contracts/click-limits.ts";
import type { Uuid } from "../../shared/ids.ts";

/** Maximum clicks of one lease, which is how many the loss of a redirector's directory can cost. */
export const LEASE_MAX = 1_000;

/** The largest part of the remaining clicks: leases shrink to one click near the limit. */
const LEASE_PART = 8;

/** After this time without a write the redirector is gone, and its lease counts as used. */
export const GONE_SECONDS = 60;

/** A redirector's own count. */
export type Holder = {
  id: Uuid;
  used: number;
};

/** `leased`: up to `upTo` may be used; `busy`: all others are leased; `spent`: none remain. */
export type LeaseStep = { ledger: Ledger; upTo: number; outcome: "leased" | "busy" | "spent" };

/**
 * Reports the holder's used clicks, returns the rest of its lease, and leases new clicks: at least
 * as many as requests wait, if available. `now` is in Unix seconds.
 */
export function lease(
  ledger: Ledger,
  limit: ClickLimit,
  holder: Holder,
  { now, waiting }: { now: number; waiting: number },
): LeaseStep {
  const settled = settle({ ...ledger, stored: Math.max(ledger.stored, limit.stored) }, holder, now);
  const left = limit.max - usedClicks(settled, limit) - leasedClicks(settled);
  if (left <= 0)
    return { ledger: settled, upTo: holder.used, outcome: rejectionOf(settled, limit, now) };
  const requested = Math.max(1, Math.floor(left / LEASE_PART), waiting);
  const upTo = holder.used + Math.min(left, requested, LEASE_MAX);
  return {
    ledger: withEntry(settled, holder.id, { upTo, used: holder.used, at: now }),
    upTo,
    outcome: "leased",
  };
}

/** Whether only leases that may be returned could still provide a click. */
function rejectionOf(ledger: Ledger, limit: ClickLimit, now: number): "busy" | "spent" {
  if (usedClicks(ledger, limit) >= limit.max) return "spent";
  const gone = Object.values(ledger.entries).filter(({ at }) => now - at > GONE_SECONDS);
  const lost = gone.reduce((sum, { upTo, used }) => sum + upTo - used, 0);
  return usedClicks(ledger, limit) + lost >= limit.max ? "spent" : "busy";
}

/** Reports used clicks and returns the rest of the lease; the same ledger if nothing changes. */
export function settle(ledger: Ledger, { id, used }: Holder, now: number): Ledger {
  const entry = ledger.entries[id];
  if (entry === undefined && used === 0) return ledger;
  if (entry?.used === used && entry.upTo === used) return ledger;
  return withEntry(ledger, id, { upTo: used, used, at: now });
}

function withEntry(ledger: Ledger, id: Uuid, entry: LeaseEntry): Ledger {
  const room = ledger.entries[id] === undefined ? makeRoom(ledger) : ledger;
  return { ...room, entries: { ...room.entries, [id]: entry } };
}

/** How many used clicks a holder must assume if it cannot trust its own count. */
export const usedAtMost = ({ used, upTo }: LeaseEntry = { used: 0, upTo: 0, at: 0 }): number =>
  Math.max(used, upTo);

/** Merges the oldest settled entry of a full ledger into the total. Throws if none is settled. */
function makeRoom(ledger: Ledger): Ledger {
  const all = Object.entries(ledger.entries);
  if (all.length < ENTRIES_MAX) return ledger;
  const [oldest] = all
    .filter(([, { upTo, used }]) => upTo === used)
    .toSorted(([, a], [, b]) => a.at - b.at);
  if (oldest === undefined) throw new Error("Too many redirectors have leases of one limit.");
  const [id, { used }] = oldest;
  const entries = Object.fromEntries(all.filter(([other]) => other !== id));
  return { ...ledger, folded: ledger.folded + used, entries };
}
