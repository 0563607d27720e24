/**
 * Ledgers of click limits, in the stream `LIMITS`: one message for each limit, replaced by compare-and-set. A redirector
 * leases clicks before it redirects, as an entry of its own in the ledger, so that all redirectors together never lead
 * on more often than the limit. What it has used it knows itself (`redirector/limits/uses-file.ts`).
 */
import * as z from "zod";

import type { Uuid } from "../ids.ts";

/** The limit of a link, as the links feed has it. */
export type ClickLimit = {
  /** The ledger: a new one each time a link gets a limit, kept while it has one. */
  id: Uuid;
  max: number;
  /** Clicks of the link that were counted when it got the limit. */
  before: number;
  /** Clicks of the link that were counted when this record was written: at least as many are spent. */
  stored: number;
  /** Only people spend; what is no human gets the confirm page. */
  humans?: true;
};

/** Totals of one redirector's clicks: it may use clicks up to `upTo`, and has said that it used `used`. */
export type LeaseEntry = {
  upTo: number;
  used: number;
  /** When it wrote this, in Unix seconds. Only what others answer depends on it, never what they may lease. */
  at: number;
};

export type Ledger = {
  /** The highest {@link ClickLimit.stored} seen. */
  stored: number;
  /** Clicks of redirectors whose entries made room. */
  folded: number;
  /** By the redirector's own id. */
  entries: Readonly<Record<Uuid, LeaseEntry>>;
};

export const EMPTY_LEDGER: Ledger = { stored: 0, folded: 0, entries: {} };

/** Most entries of a ledger; of more redirectors, the entry that has been settled longest is folded. */
export const ENTRIES_MAX = 200;

const count = z.int().nonnegative();

const ledgerSchema = z.object({
  stored: count,
  folded: count,
  entries: z.record(z.string(), z.tuple([count, count, count])),
});

/** Encodes a ledger; entries are tuples, to keep the message small. */
export function encodeLedger({ stored, folded, entries }: Ledger): Uint8Array {
  const tuples = Object.entries(entries).map(([id, { upTo, used, at }]) => [id, [upTo, used, at]]);
  const message = { stored, folded, entries: Object.fromEntries(tuples) };
  return new TextEncoder().encode(JSON.stringify(message));
}

/** Decodes a ledger. Throws for anything else: nothing may be leased then. */
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

/** Clicks that are spent for certain, as far as the ledger and the limit's record know. */
export function spentClicks(ledger: Ledger, { before, stored }: ClickLimit): number {
  const used = Object.values(ledger.entries).reduce((sum, entry) => sum + entry.used, 0);
  return Math.max(stored, ledger.stored, before + ledger.folded + used);
}

/** Clicks that redirectors have leased and may still use. */
export const leasedClicks = ({ entries }: Pick<Ledger, "entries">): number =>
  Object.values(entries).reduce((sum, { upTo, used }) => sum + upTo - used, 0);
