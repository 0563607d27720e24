/**
 * Goal: a batch in doubt is completed in every table with the rows that `clicks` has, and without a
 * comparison.
 */
import { beforeEach, describe, expect, test } from "bun:test";

import { newUuid } from "../../shared/ids.ts";
import { RejectedError } from "../../test/harness/batches-model.ts";
import { MemoryLog } from "../../test/harness/memory-log.ts";
import type { ClickStore } from "./clicks-table.ts";
import { Owner, type SegmentSource } from "./owner.ts";
import { SegmentIndex } from "./segment-index.ts";

const CLICK = Date.now();
const SEGMENT = {
  journalId: newUuid(),
  segment: 0,
  sequence: 1,
  publishedAt: 1,
  firstClick: CLICK - 1_000,
  lastClick: CLICK,
};

let log: MemoryLog;
/** The token and the rows of each insert. */
let inserted: [token: string, rows: string][];
beforeEach(() => {
  log = new MemoryLog();
  inserted = [];
});

/** A worker that makes these rows of the segment takes over, with a ClickHouse that has those. */
function takeOver(
  made: string,
  stored: string,
  change: Partial<ClickStore & SegmentSource> = {},
): Promise<Owner> {
  const world: ClickStore & SegmentSource = {
    insert: async (token, rows) => void inserted.push([token, rows.join("")]),
    findStored: async (segments) => (stored === "" ? [] : [...segments]),
    readRows: async () => Buffer.from(stored),
    readHistory: async () => new SegmentIndex(),
    find: async (segments) =>
      segments.has(SEGMENT) ? [{ ...SEGMENT, rows: Buffer.from(made) }] : [],
    ...change,
  };
  return Owner.takeOver(log, world, world, (operation) => operation());
}

/**
 * An owner stores the segment and ends: whether every table has it is in doubt. Returns the token.
 */
async function leaveInDoubt(): Promise<string> {
  const owner = await takeOver("rows of the first", "");
  await owner.store([{ ...SEGMENT, rows: Buffer.from("rows of the first") }]);
  const [[token] = [""]] = inserted.splice(0);
  return token;
}

describe("a batch in doubt", () => {
  test("gets the rows that are in clicks, before those that the next worker makes of its segments", async () => {
    const token = await leaveInDoubt();
    const owner = await takeOver("rows of the next", "rows of the first");
    expect(inserted).toEqual([
      [token, "rows of the first"],
      [token, "rows of the next"],
    ]);
    expect([owner.has(SEGMENT), owner.size.open]).toEqual([true, 0]);
  });

  test("gets those of its segments if none are in clicks", async () => {
    const token = await leaveInDoubt();
    await takeOver("rows of the next", "");
    expect(inserted).toEqual([[token, "rows of the next"]]);
  });

  test("is completed from clicks though its segments have left the stream", async () => {
    const token = await leaveInDoubt();
    const gone = { find: async () => [] };
    const owner = await takeOver("", "rows of the first", gone);
    expect(inserted).toEqual([[token, "rows of the first"]]);
    expect([owner.has(SEGMENT), owner.size.open]).toEqual([true, 0]);
  });

  test("is settled once: the next owner inserts nothing again", async () => {
    await leaveInDoubt();
    await takeOver("rows", "rows");
    inserted = [];
    await takeOver("rows", "rows");
    expect(inserted).toEqual([]);
  });

  test("does not stop a takeover when a view rejects the rows that are in clicks", async () => {
    await leaveInDoubt();
    const rejects = { insert: () => Promise.reject(new RejectedError("A view refuses.")) };
    const owner = await takeOver("rows of the next", "rows of the first", rejects);
    expect([owner.has(SEGMENT), owner.size.open]).toEqual([true, 0]);
  });
});

describe("a batch that a view rejects after its rows are in clicks", () => {
  test("is inserted once more under its token, and no segment of it becomes a dead letter", async () => {
    let rejections = 0;
    const owner = await takeOver("", "rows", {
      async insert(token, rows) {
        inserted.push([token, rows.join("")]);
        if (rejections++ === 0) throw new RejectedError("A view refuses.");
      },
    });
    const rejected = await owner.store([{ ...SEGMENT, rows: Buffer.from("rows") }]);
    expect(rejected).toEqual([]);
    expect(inserted).toHaveLength(2);
    expect(inserted[0]).toEqual(inserted[1] ?? ["", ""]);
    expect(owner.has(SEGMENT)).toBe(true);
  });
});
