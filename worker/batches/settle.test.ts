/**
 * Goal: a batch in doubt is completed in every table with the rows that `clicks` has, and without a
 * comparison.
 */
import { beforeEach, describe, expect, test } from "bun:test";

import { newUuid } from "../../shared/ids.ts";
import { createMemoryLog } from "../../test/harness/memory-log.ts";
import type { OwnerDeps } from "./deps.ts";
import { takeOver } from "./owner.ts";
import { createSegmentIndex } from "./segment-index.ts";

class RejectedError extends Error {}

const CLICK = Date.now();
const SEGMENT = {
  journalId: newUuid(),
  segment: 0,
  sequence: 1,
  publishedAt: 1,
  firstClick: CLICK - 1_000,
  lastClick: CLICK,
};

let log: ReturnType<typeof createMemoryLog>;
/** The token and the rows of each insert. */
let inserted: [token: string, rows: string][];
beforeEach(() => {
  log = createMemoryLog();
  inserted = [];
});

/** A worker that makes these rows of the segment, and a ClickHouse that has those. */
const workerWith = (made: string, stored: string, change: Partial<OwnerDeps> = {}): OwnerDeps => ({
  log,
  insert: async (token, rows) => void inserted.push([token, rows.join("")]),
  isRejected: (error) => error instanceof RejectedError,
  findStored: async (segments) => (stored === "" ? [] : segments),
  readRows: async () => Buffer.from(stored),
  readHistory: async () => createSegmentIndex(),
  findInStream: async (segments) =>
    segments.has(SEGMENT) ? [{ ...SEGMENT, rows: Buffer.from(made) }] : [],
  retry: (operation) => operation(),
  onSettled: () => undefined,
  ...change,
});

/**
 * An owner stores the segment and ends: whether every table has it is in doubt. Returns the token.
 */
async function leaveInDoubt(): Promise<string> {
  const owner = await takeOver(workerWith("rows of the first", ""));
  await owner.store([{ ...SEGMENT, rows: Buffer.from("rows of the first") }]);
  const [[token] = [""]] = inserted.splice(0);
  return token;
}

describe("a batch in doubt", () => {
  test("gets the rows that are in clicks, before those that the next worker makes of its segments", async () => {
    const token = await leaveInDoubt();
    const owner = await takeOver(workerWith("rows of the next", "rows of the first"));
    expect(inserted).toEqual([
      [token, "rows of the first"],
      [token, "rows of the next"],
    ]);
    expect([owner.has(SEGMENT), owner.size().open]).toEqual([true, 0]);
  });

  test("gets those of its segments if none are in clicks", async () => {
    const token = await leaveInDoubt();
    await takeOver(workerWith("rows of the next", ""));
    expect(inserted).toEqual([[token, "rows of the next"]]);
  });

  test("is completed from clicks though its segments have left the stream", async () => {
    const token = await leaveInDoubt();
    const gone = { findInStream: async () => [] };
    const owner = await takeOver(workerWith("", "rows of the first", gone));
    expect(inserted).toEqual([[token, "rows of the first"]]);
    expect([owner.has(SEGMENT), owner.size().open]).toEqual([true, 0]);
  });

  test("is settled once: the next owner inserts nothing again", async () => {
    await leaveInDoubt();
    await takeOver(workerWith("rows", "rows"));
    inserted = [];
    await takeOver(workerWith("rows", "rows"));
    expect(inserted).toEqual([]);
  });

  test("does not stop a takeover when a view rejects the rows that are in clicks", async () => {
    await leaveInDoubt();
    const rejects = { insert: () => Promise.reject(new RejectedError("A view refuses.")) };
    const owner = await takeOver(workerWith("rows of the next", "rows of the first", rejects));
    expect([owner.has(SEGMENT), owner.size().open]).toEqual([true, 0]);
  });
});

describe("a checkpoint of an earlier version", () => {
  test("may have a batch whose segments are settled and whose rollups are not: it does not stay open", async () => {
    const claim = { epoch: 1, owner: newUuid() };
    await log.claim(claim);
    const unrepaired = { token: "t", segments: "", sequences: "", firstClick: 0, lastClick: 1 };
    await log.appendCheckpoint(claim, { number: 1, segments: "", open: [unrepaired] });
    const owner = await takeOver(workerWith("", ""));
    expect([inserted, owner.size().open]).toEqual([[], 0]);
  });
});

describe("a batch that a view rejects after its rows are in clicks", () => {
  test("is inserted once more under its token, and no segment of it becomes a dead letter", async () => {
    let rejections = 0;
    const owner = await takeOver(
      workerWith("", "rows", {
        async insert(token, rows) {
          inserted.push([token, rows.join("")]);
          if (rejections++ === 0) throw new RejectedError("A view refuses.");
        },
      }),
    );
    const rejected = await owner.store([{ ...SEGMENT, rows: Buffer.from("rows") }]);
    expect(rejected).toEqual([]);
    expect(inserted).toHaveLength(2);
    expect(inserted[0]).toEqual(inserted[1] ?? ["", ""]);
    expect(owner.has(SEGMENT)).toBe(true);
  });
});
