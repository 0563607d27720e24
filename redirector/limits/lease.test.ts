import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import {
  type ClickLimit,
  decodeLedger,
  EMPTY_LEDGER,
  encodeLedger,
  ENTRIES_MAX,
  leasedClicks,
  type Ledger,
  usedClicks,
} from "../../shared/contracts/click-limits.ts";
import { casesOf } from "../../test/harness/property-runs.ts";
import { GONE_SECONDS, lease, LEASE_MAX, settle } from "./lease.ts";

const limitOf = (change: Partial<ClickLimit> = {}): ClickLimit => ({
  id: "0190a5a2-0000-7000-8000-000000000001",
  max: 100,
  before: 0,
  stored: 0,
  ...change,
});

const NOW = { now: 1_000_000, waiting: 0 };

describe("a lease", () => {
  test("is bounded, but covers the requests that wait", () => {
    const big = limitOf({ max: 1_000_000 });
    expect(lease(EMPTY_LEDGER, big, { id: "a", used: 0 }, NOW).upTo).toBe(LEASE_MAX);
    const few = limitOf({ max: 20 });
    expect(lease(EMPTY_LEDGER, few, { id: "a", used: 0 }, { ...NOW, waiting: 15 }).upTo).toBe(15);
    expect(lease(EMPTY_LEDGER, few, { id: "a", used: 0 }, { ...NOW, waiting: 50 }).upTo).toBe(20);
  });

  test("of another redirector makes a link busy until that has been gone for long, and then spent", () => {
    const one = limitOf({ max: 1 });
    const held = lease(EMPTY_LEDGER, one, { id: "a", used: 0 }, NOW).ledger;
    const later = (seconds: number) =>
      lease(held, one, { id: "b", used: 0 }, { ...NOW, now: NOW.now + seconds }).outcome;
    expect([later(0), later(GONE_SECONDS), later(GONE_SECONDS + 1)]).toEqual([
      "busy",
      "busy",
      "spent",
    ]);
    // When it comes back, the click is there again.
    const returned = settle(held, { id: "a", used: 0 }, NOW.now + 1_000);
    expect(lease(returned, one, { id: "b", used: 0 }, NOW).outcome).toBe("leased");
  });

  test("ends when the limit is lowered below what is spent, and begins again when it is raised", () => {
    const { ledger } = lease(EMPTY_LEDGER, limitOf(), { id: "a", used: 0 }, NOW);
    const used = settle(ledger, { id: "a", used: 10 }, NOW.now);
    const outcome = (max: number) =>
      lease(used, limitOf({ max }), { id: "b", used: 0 }, NOW).outcome;
    expect([outcome(10), outcome(9), outcome(11)]).toEqual(["spent", "spent", "leased"]);
  });

  test("counts what was there before, and what is stored", () => {
    const { ledger } = lease(EMPTY_LEDGER, limitOf({ before: 90 }), { id: "a", used: 0 }, NOW);
    expect(leasedClicks(ledger)).toBe(1);
    expect(lease(EMPTY_LEDGER, limitOf({ stored: 100 }), { id: "a", used: 0 }, NOW).outcome).toBe(
      "spent",
    );
  });

  test("makes room for a new redirector by folding one that has nothing in hand", () => {
    let ledger: Ledger = EMPTY_LEDGER;
    const limit = limitOf({ max: 1_000_000 });
    for (let i = 0; i < ENTRIES_MAX + 20; i++) {
      ledger = lease(ledger, limit, { id: `holder-${i}`, used: 0 }, { ...NOW, now: i }).ledger;
      ledger = settle(ledger, { id: `holder-${i}`, used: 2 }, i);
    }
    expect(Object.keys(ledger.entries)).toHaveLength(ENTRIES_MAX);
    expect(usedClicks(ledger, limit)).toBe(2 * (ENTRIES_MAX + 20));
    expect(decodeLedger(encodeLedger(ledger))).toEqual(ledger);
    expect(encodeLedger(ledger).length).toBeLessThan(32 * 1024);
  });
});

type Step = {
  holder: number;
  kind: "lease" | "use" | "settle" | "crash" | "late";
  waiting: number;
};

const steps = fc.array(
  fc.record<Step>({
    holder: fc.nat(3),
    kind: fc.constantFrom("lease", "lease", "use", "use", "use", "settle", "crash", "late"),
    waiting: fc.nat(5),
  }),
  { maxLength: 300 },
);

test("redirectors that lease, use, crash, and whose replacements arrive late, never use more than the limit", () => {
  fc.assert(
    fc.property(steps, fc.integer({ min: 1, max: 40 }), fc.nat(10), (run, max, before) => {
      const limit = limitOf({ max: max + before, before });
      let stored = { ledger: EMPTY_LEDGER, sequence: 0 };
      /** `used` is in the file, and survives; `upTo` is in memory. */
      const holders = [0, 1, 2, 3].map((i) => ({ id: `h${i}`, used: 0, upTo: 0 }));
      let late: { ledger: Ledger; sequence: number } | undefined;
      for (const { holder: i, kind, waiting } of run) {
        const holder = holders[i];
        if (holder === undefined) continue;
        if (kind === "use" && holder.upTo > holder.used) holder.used++;
        if (kind === "crash") holder.upTo = holder.used;
        if (kind === "lease" || kind === "settle") {
          holder.upTo = holder.used;
          const step =
            kind === "lease"
              ? lease(stored.ledger, limit, holder, { now: 0, waiting })
              : { ledger: settle(stored.ledger, holder, 0), upTo: holder.used };
          // Now and then nobody knows whether a replacement arrived: it may do so later.
          if (waiting === 5) late = { ledger: step.ledger, sequence: stored.sequence };
          else {
            stored = { ledger: step.ledger, sequence: stored.sequence + 1 };
            holder.upTo = step.upTo;
          }
        }
        if (kind === "late" && late?.sequence === stored.sequence)
          stored = { ledger: late.ledger, sequence: stored.sequence + 1 };
        const used = holders.reduce((sum, one) => sum + one.used, 0);
        expect(used).toBeLessThanOrEqual(max);
        expect(leasedClicks(stored.ledger)).toBeGreaterThanOrEqual(0);
      }
    }),
    { numRuns: casesOf(2_000) },
  );
});
