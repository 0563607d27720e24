/**
 * Ledgers of click limits, in the stream `LIMITS`: one message for each limit, replaced by
 * compare-and-set. A redirector leases clicks before it redirects, in its own entry of the ledger,
 * so that all redirectors together never redirect more often than the limit. Each redirector stores
 * its own uses (`redirector/limits/uses-file.ts`).
 */
import * as z from "zod";

import type { Uuid } from "../ids.ts";

/** The limit of a link, in the links log. */
export type ClickLimit = {
  /**
   * The id of the ledger. A link gets a new one each time it gets a limit, and keeps it while it
   * has a limit.
   */
  id: Uuid;
  max: number;
  /** Clicks of the link that were counted when it got the limit. */
  before: number;
  /**
   * Clicks of the link that were counted when this record was written: a lower bound of the used
   * clicks.
   */
  stored: number;
  /** Only human clicks count; other visitors get the confirm page. */
  humans?: true;
};

/**
 * Totals of one redirector's clicks: it may use clicks up to `upTo`, and has reported that it used
 * `used`.
 */
export type LeaseEntry = {
  upTo: number;
  used: number;
  /**
   * When it wrote this, in Unix seconds. Only responses of other redirectors depend on it, never
   * their leases.
   */
  at: number;
};

export type Ledger = {
  /** The highest {@link ClickLimit.stored} seen. */
  stored: number;
  /** Clicks of redirectors whose entries were removed to make room. */
  folded: number;
  /** By the redirector's own id. */
  entries: Readonly<Record<Uuid, LeaseEntry>>;
};

/** The format of ledgers in the stream. */
const LEDGER_FORMAT = 1;

export const EMPTY_LEDGER: Ledger = { stored: 0, folded: 0, entries: {} };

/**
 * Maximum entries of a ledger. Beyond it, the entry that has been settled longest is added to
 * `folded`.
 */
export const ENTRIES_MAX = 200;

const count = z.int().nonnegative();

const ledgerSchema = z.object({
  format: z.literal(LEDGER_FORMAT, `must be ${LEDGER_FORMAT}, which this version reads`),
  stored: count,
  folded: count,
  entries: z.record(z.string(), z.tuple([count, count, count])),
});

/** Encodes a ledger; entries are tuples, to keep the message small. */
export function encodeLedger({ stored, folded, entries }: Ledger): Uint8Array {
  const tuples = Object.entries(entries).map(([id, { upTo, used, at }]) => [id, [upTo, used, at]]);
  const message = { format: LEDGER_FORMAT, stored, folded, entries: Object.fromEntries(tuples) };
  return new TextEncoder().encode(JSON.stringify(message));
}

/** Decodes a ledger. Throws when it is malformed: then no click may be leased. */
export function decodeLedger(bytes: Uint8Array): Ledger {
  const { stored, folded, entries } = ledgerSchema.parse(
    JSON.parse(new TextDecoder().decode(bytes)),
  );
  const named = Object.entries(entries).map(([id, [upTo, used, at]]): [Uuid, LeaseEntry] => [
    id,
    { upTo, used, at },
  ]);
  return { stored, folded, entries: Object.fromEntries(named) };
}

/** Lower bound of the used clicks, by the ledger and the limit's record. */
export function usedClicks(ledger: Ledger, { before, stored }: ClickLimit): number {
  const used = Object.values(ledger.entries).reduce((sum, entry) => sum + entry.used, 0);
  return Math.max(stored, ledger.stored, before + ledger.folded + used);
}

/** Clicks that redirectors have leased and may still use. */
export const leasedClicks = ({ entries }: { entries: Ledger["entries"] }): number =>
  Object.values(entries).reduce((sum, { upTo, used }) => sum + upTo - used, 0);
