/**
 * How a redirector changes the ledger of a limit: pure functions. What it has used by its own account always replaces what
 * the ledger says, so that a ledger which was set back is corrected, and a repeated change changes nothing.
 */
import {
  type ClickLimit,
  ENTRIES_MAX,
  leasedClicks,
  type LeaseEntry,
  type Ledger,
  spentClicks,
} from "../../shared/contracts/click-limits.ts";
import type { Uuid } from "../../shared/ids.ts";

/** Most clicks of one lease: what the loss of a redirector's directory can cost. */
export const LEASE_MAX = 1_000;

/** A lease is at most this part of what is left, so that it becomes one click at a time near the end. */
const LEASE_PART = 8;

/** The lease of a redirector that has not written for so long counts as spent in answers: it is gone. */
export const GONE_SECONDS = 60;

/** A redirector's own account. */
export type Holder = {
  id: Uuid;
  /** Clicks that it has used. */
  used: number;
};

/** `leased`: clicks up to `upTo` may be used; `busy`: all that is left is leased; `spent`: nothing is left. */
export type LeaseStep = { ledger: Ledger; upTo: number; outcome: "leased" | "busy" | "spent" };

/**
 * Reports what the holder used, gives back the rest of its lease, and leases new clicks, at least as many as requests
 * wait if there are. `now` is in Unix seconds.
 */
export function lease(
  ledger: Ledger,
  limit: ClickLimit,
  holder: Holder,
  { now, waiting }: { now: number; waiting: number },
): LeaseStep {
  const settled = settle({ ...ledger, stored: Math.max(ledger.stored, limit.stored) }, holder, now);
  const left = limit.max - spentClicks(settled, limit) - leasedClicks(settled);
  if (left <= 0)
    return { ledger: settled, upTo: holder.used, outcome: refusal(settled, limit, now) };
  const wanted = Math.max(1, Math.floor(left / LEASE_PART), waiting);
  const upTo = holder.used + Math.min(left, wanted, LEASE_MAX);
  return {
    ledger: withEntry(settled, holder.id, { upTo, used: holder.used, at: now }),
    upTo,
    outcome: "leased",
  };
}

/** Whether leases that may come back are all that keeps a click from being left. */
function refusal(ledger: Ledger, limit: ClickLimit, now: number): "busy" | "spent" {
  if (spentClicks(ledger, limit) >= limit.max) return "spent";
  const gone = Object.values(ledger.entries).filter(({ at }) => now - at > GONE_SECONDS);
  const lost = gone.reduce((sum, { upTo, used }) => sum + upTo - used, 0);
  return spentClicks(ledger, limit) + lost >= limit.max ? "spent" : "busy";
}

/** Reports what the holder used, and gives back the rest of its lease. Returns the same ledger if it says so already. */
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

/** What a holder that cannot trust its own account must take for used. */
export const usedAtMost = ({ used, upTo }: LeaseEntry = { used: 0, upTo: 0, at: 0 }): number =>
  Math.max(used, upTo);

/** Folds the entry that has been settled longest, if there are as many as there may be. Throws if none is settled. */
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
