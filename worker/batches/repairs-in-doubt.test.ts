import { describe, expect, test } from "bun:test";

import { newUuid } from "../../shared/ids.ts";
import { createMemoryLog } from "../../test/harness/memory-log.ts";
import { type ClickSpan, LostOwnershipError, type OwnerDeps } from "./deps.ts";
import { takeOver } from "./owner.ts";
import { createRepairs } from "./repair.ts";
import { createSegmentIndex } from "./segment-index.ts";

const SEGMENT = {
  journalId: newUuid(),
  segment: 0,
  sequence: 1,
  publishedAt: 1,
  rows: Buffer.alloc(0),
};
const SPAN: ClickSpan = { firstClick: Date.now() - 1_000, lastClick: Date.now() };

describe("the repair of a batch in doubt", () => {
  test("that cannot be done is left to the next owner, who inserts nothing again", async () => {
    const log = createMemoryLog();
    const inserted: string[] = [];
    const spans: (ClickSpan | undefined)[] = [];
    const depsWith = (repaired: boolean): OwnerDeps => ({
      log,
      insert: async (token) => void inserted.push(token),
      isRejected: () => false,
      findStored: async (segments) => segments,
      readHistory: async () => createSegmentIndex(),
      findInStream: async (segments) => (segments.has(SEGMENT) ? [{ ...SEGMENT, ...SPAN }] : []),
      async repair(_, span) {
        spans.push(span);
        return repaired;
      },
      retry: (operation) => operation(),
      onSettled: () => undefined,
    });
    const first = await takeOver(depsWith(true));
    await first.store([{ ...SEGMENT, ...SPAN }]);
    await takeOver(depsWith(false));
    expect(inserted).toHaveLength(2);
    await takeOver(depsWith(false));
    const last = await takeOver(depsWith(true));
    expect(inserted).toHaveLength(2);
    expect(spans).toMatchObject([SPAN, SPAN, SPAN]);
    expect(last.size().open).toBe(0);
    await takeOver(depsWith(true));
    expect(spans).toHaveLength(3);
  });
});

/** PostgreSQL, which gives the lock. */
const transaction = async () => [{ locked: true }];

const lose = () => Promise.reject(new LostOwnershipError("Another worker has taken over."));

describe("repairs", () => {
  test("end when another worker has taken over, and are postponed by any other error", async () => {
    const { promise: never } = Promise.withResolvers<never>();
    // Nothing is read: both errors come before.
    const clickhouse = { query: () => never, command: () => never, insert: () => never };
    const sql = {
      begin: async (work: (use: typeof transaction) => unknown) => await work(transaction),
    };
    const log = { warn: () => undefined };
    const repairs = createRepairs({ sql, clickhouse, log, onRebuilt: () => undefined } as never);
    const outcome = await repairs.repair(lose, SPAN).catch((error: unknown) => error);
    expect(outcome).toBeInstanceOf(LostOwnershipError);
    expect(await repairs.repair(() => Promise.reject(new Error("ClickHouse is down.")))).toBe(
      false,
    );
  });
});
