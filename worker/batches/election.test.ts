/**
 * Goal: a worker takes over from one that has ended, and not from one that is at work, whatever
 * clocks say.
 */
import { describe, expect, setDefaultTimeout, test } from "bun:test";

import type { ConsumerInfo } from "nats";

import { HOUR_MS } from "../../shared/durations.ts";
import { processLog } from "../../shared/log.ts";
import { eventually } from "../../test/harness/eventually.ts";
import { MemoryLog } from "../../test/harness/memory-log.ts";
import { type ClaimSight, RENEWED_MS, renewWhile } from "./batch-log.ts";
import { Election, STAND_BY_MS } from "./election.ts";

setDefaultTimeout(60_000);

/** Nobody fetches. */
const IDLE = {
  num_waiting: 0,
  delivered: { consumer_seq: 1, stream_seq: 1, last_active: 0 },
} as ConsumerInfo;

/** So that the test waits for some renewals, and for what must not be one. */
const RENEW_MS = 10;

/** An age is that of a claim which was appended again before each sight. */
type Seen = ClaimSight | number | undefined;

/**
 * Stands by with these sights of the claim, one a poll, on a clock of its own; returns how many it
 * took, and what it warned of.
 */
function countSights(sights: readonly Seen[]) {
  let polls = 0;
  let now = 0;
  const warned: unknown[] = [];
  const log = processLog("test", "warn", {
    write: (line) =>
      void warned.push((JSON.parse(line) as Record<string, unknown>)["ahead_seconds"]),
  });
  const election = new Election(0, log, () => now);
  for (; polls < sights.length; now += STAND_BY_MS) {
    if (!election.isQuiet(IDLE)) continue;
    const sight = sights[polls++];
    const claim =
      typeof sight === "number" ? { key: String(polls), ageMs: sight, aheadMs: 0 } : sight;
    if (election.isAbandoned(claim)) break;
  }
  return { polls, warned };
}

const repeat = <T>(count: number, sight: (i: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => sight(i));

describe("a worker that stands by", () => {
  test("does not take over from an owner that renews its claim, though that does not fetch", async () => {
    const { polls } = countSights([0, RENEWED_MS, RENEWED_MS + 1, 0]);
    expect(polls).toBe(3);
  });

  test("takes over an empty log at once", async () => {
    expect(countSights([undefined, undefined]).polls).toBe(1);
  });

  test("takes over from a claim that only the future has, and says so once", async () => {
    const future = { key: "1", ageMs: undefined, aheadMs: HOUR_MS };
    expect(countSights(repeat(9, () => future))).toEqual({
      polls: 1,
      warned: [3_600],
    });
  });

  test("does not take over from an owner that renews a claim which was once in the future", async () => {
    const sights = repeat(100, (i) => ({ key: String(i), ageMs: 1_000, aheadMs: HOUR_MS }));
    const { polls, warned } = countSights(sights);
    expect([polls, warned.length]).toEqual([100, 1]);
  });

  test("takes over when its own clock says that the claim was not renewed, whatever ClickHouse's says", async () => {
    // ClickHouse's clock stands still, or is set back again and again.
    const { polls } = countSights(repeat(100, () => ({ key: "1", ageMs: 10, aheadMs: 0 })));
    expect(polls).toBe(RENEWED_MS / STAND_BY_MS + 2);
  });
});

test("a claim is renewed while an owner does something long, and not after", async () => {
  let claims = 0;
  class CountedClaims extends MemoryLog {
    override async claim() {
      claims++;
    }
  }
  const claim = { epoch: 1, owner: "a" };
  const work = async () => {
    await eventually(async () => expect(claims).toBeGreaterThan(1), 1_000);
    return "done";
  };
  expect(await renewWhile(new CountedClaims(), claim, work, RENEW_MS)).toBe("done");
  const renewed = claims;
  // Nothing is renewed meanwhile.
  await Bun.sleep(20 * RENEW_MS);
  expect(claims).toBe(renewed);
});
