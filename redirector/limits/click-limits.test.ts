/**
 * The limits of several redirectors on ledgers in memory, which fail, lose answers and are set back
 * as NATS does.
 */
import { afterEach, expect, test } from "bun:test";
import { join } from "node:path";

import fc from "fast-check";

import {
  type ClickLimit,
  EMPTY_LEDGER,
  type Ledger,
  usedClicks,
} from "../../shared/contracts/click-limits.ts";
import { newUuid } from "../../shared/ids.ts";
import { processLog } from "../../shared/log.ts";
import { eventually } from "../../test/harness/eventually.ts";
import { dirForFile } from "../../test/harness/for-file.ts";
import { ClickLimits } from "./click-limits.ts";
import type { ClickOutcome } from "./holdings.ts";
import type { LedgerStore } from "./ledgers.ts";
import { UsesFile } from "./uses-file.ts";

const LIMIT = newUuid();

const limitOf = (max: number, change: Partial<ClickLimit> = {}): ClickLimit => ({
  id: LIMIT,
  max,
  before: 0,
  stored: 0,
  ...change,
});

type FakeLedgers = LedgerStore & {
  stored: { ledger: Ledger; sequence: number };
  up: boolean;
};

/** `fails` decides for each replacement whether it fails before it is made, or after. */
function fakeLedgers(fails: () => "before" | "after" | undefined = () => undefined): FakeLedgers {
  const fake: FakeLedgers = {
    stored: { ledger: EMPTY_LEDGER, sequence: 0 },
    up: true,
    async read() {
      await Bun.sleep(0);
      if (!fake.up) throw new Error("NATS is away.");
      return fake.stored;
    },
    async replace(_limit, ledger, sequence) {
      await Bun.sleep(0);
      const failure = fake.up ? fails() : "before";
      if (failure === "before") throw new Error("NATS is away.");
      if (sequence !== fake.stored.sequence) return undefined;
      fake.stored = { ledger, sequence: sequence + 1 };
      if (failure === "after") throw new Error("The answer was lost.");
      return sequence + 1;
    },
  };
  return fake;
}

const dir = dirForFile("shorthop-limits-");

const fail = (what: unknown): never => {
  throw new Error(`The file should be usable: ${String(what)}`);
};

const running: { stop(withinMs: number): Promise<void> }[] = [];
afterEach(async () => void (await Promise.all(running.splice(0).map((one) => one.stop(0)))));

/** A redirector: its file outlives its process. */
function createRedirector(ledgers: FakeLedgers) {
  const path = join(dir, newUuid());
  const conditions = {
    isReady: () => ledgers.up,
    isOpen: () => ledgers.up,
    known: () => 0,
    accepts: () => true,
  };
  const start = () => {
    const file = new UsesFile(path, { unreadable: fail, unwritable: fail });
    const log = processLog("redirector", "silent");
    const limits = new ClickLimits(ledgers, file, conditions, log);
    running.push(limits);
    return limits;
  };
  let limits = start();
  return {
    take: async (limit: ClickLimit): Promise<ClickOutcome> => await limits.take(limit),
    isExhausted: (limit: ClickLimit) => limits.isExhausted(limit),
    look: async (limit: ClickLimit) => await limits.look(limit),
    restore: () => limits.restore(),
    stop: () => limits.stop(1_000),
    /** Kills the process and starts it again. */
    restart() {
      void limits.stop(0);
      limits = start();
    },
  };
}

test("a lease in hand is taken without waiting, and with NATS away until it is used up", async () => {
  const ledgers = fakeLedgers();
  const redirector = createRedirector(ledgers);
  expect(await redirector.take(limitOf(80))).toBe("taken");
  ledgers.up = false;
  const taken: ClickOutcome[] = [];
  for (let i = 0; i < 10; i++) taken.push(await redirector.take(limitOf(80)));
  expect(taken).toEqual([...Array<ClickOutcome>(9).fill("taken"), "busy"]);
});

test("what takes no click learns whether one is left, without leasing any", async () => {
  const ledgers = fakeLedgers();
  const [asking, taking] = [createRedirector(ledgers), createRedirector(ledgers)];
  expect(await asking.look(limitOf(1))).toBe(false);
  expect(ledgers.stored.sequence).toBe(0);
  expect(await taking.take(limitOf(1))).toBe("taken");
  await eventually(async () => expect(await asking.look(limitOf(1))).toBe(true));
  expect(asking.isExhausted(limitOf(1))).toBe(true);
  ledgers.up = false;
  expect(await asking.look(limitOf(2))).toBe(false);
});

test("a redirector that stops gives back what it leased", async () => {
  const ledgers = fakeLedgers();
  const redirector = createRedirector(ledgers);
  await redirector.take(limitOf(800));
  await redirector.stop();
  expect(ledgers.stored.ledger.entries).toEqual({
    [Object.keys(ledgers.stored.ledger.entries)[0] ?? ""]: {
      upTo: 1,
      used: 1,
      at: expect.any(Number),
    },
  });
});

test("a crash loses no click of a one-time link, and none is there twice", async () => {
  // The answer to the lease is lost, and the process with it.
  let lost = true;
  const ledgers = fakeLedgers(() => (lost ? "after" : undefined));
  const [crashing, other] = [createRedirector(ledgers), createRedirector(ledgers)];
  expect(await crashing.take(limitOf(1))).toBe("busy");
  lost = false;
  expect(await other.take(limitOf(1))).toBe("busy");
  crashing.restart();
  await eventually(async () => expect(await other.take(limitOf(1))).toBe("taken"));
  other.restart();
  await eventually(async () => expect(await other.take(limitOf(1))).toBe("spent"));
  expect(await crashing.take(limitOf(1))).toBe("spent");
});

test("ledgers that were set back, or lost, do not grant again what redirectors used", async () => {
  const ledgers = fakeLedgers();
  const redirectors = [createRedirector(ledgers), createRedirector(ledgers)];
  const limit = limitOf(40);
  for (let i = 0; i < 30; i++) await redirectors[i % 2]?.take(limit);
  ledgers.stored = { ledger: EMPTY_LEDGER, sequence: 0 };
  for (const redirector of redirectors) redirector.restore();
  await eventually(async () => expect(usedClicks(ledgers.stored.ledger, limit)).toBe(30));
  let taken = 0;
  await eventually(async () => {
    for (const redirector of redirectors) {
      const outcome = await redirector.take(limit);
      if (outcome === "taken") taken++;
      expect(outcome).not.toBe("taken");
    }
    expect(taken).toBe(10);
  }, 15_000);
});

test("whatever answers are lost and whoever is killed, no more than the limit is taken, and at the end all of it", async () => {
  const failure = fc.constantFrom(
    undefined,
    undefined,
    undefined,
    "before" as const,
    "after" as const,
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(failure, { minLength: 1, maxLength: 50 }),
      fc.array(fc.tuple(fc.nat(2), fc.nat(20)), { minLength: 5, maxLength: 25 }),
      fc.integer({ min: 1, max: 30 }),
      async (failures, actions, max) => {
        let n = 0;
        let failing = true;
        const ledgers = fakeLedgers(() => (failing ? failures[n++ % failures.length] : undefined));
        const redirectors = [0, 1, 2].map(() => createRedirector(ledgers));
        const limit = limitOf(max);
        let taken = 0;
        const takeOne = async (index: number) => {
          if ((await redirectors[index]?.take(limit)) === "taken") taken++;
        };
        for (const [index, kind] of actions) {
          if (kind === 0) redirectors[index]?.restart();
          else await Promise.all(Array.from({ length: kind }, () => takeOne(index)));
          expect(taken).toBeLessThanOrEqual(max);
        }
        failing = false;
        // A lease whose process was killed is given back as soon as that starts again.
        for (const redirector of redirectors) redirector.restart();
        await eventually(async () => {
          await Promise.all([0, 1, 2].map(takeOne));
          expect(taken).toBe(max);
        });
        await Promise.all(redirectors.map((redirector) => redirector.stop()));
      },
    ),
    { numRuns: 15 },
  );
});
