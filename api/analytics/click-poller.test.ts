import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { processLog } from "../../shared/log.ts";
import { ClickPoller, type LiveRow, type ReadLiveRows, ROWS_MAX } from "./click-poller.ts";

const log = processLog("test", "fatal");
const LINK = "01900000-0000-7000-8000-000000000001";
const START = 1_700_000_000_000;

const rowAt = (ms: number, position: number): LiveRow => ({
  ms: String(ms),
  position: String(position).padStart(6, "0"),
  class: "human",
  country: "ZZ",
  region: "",
  city: "",
  browser: "",
  os: "",
  device: "",
  referrer: "direct",
});

/** A poller on clicks, a clock and polls that the test controls. */
function createFixture() {
  const rows: LiveRow[] = [];
  const state = { now: START, queries: 0, failing: false };
  let wake: (() => void) | undefined;
  const readRows: ReadLiveRows = async (_linkId, since) => {
    state.queries++;
    if (state.failing) throw new Error("away");
    return rows
      .filter(({ ms }) => Number(ms) >= since)
      .toSorted((a, b) => Number(a.ms) - Number(b.ms) || a.position.localeCompare(b.position))
      .slice(0, ROWS_MAX);
  };
  const sleep = () => new Promise<void>((resolve) => void (wake = resolve));
  const poller = new ClickPoller(readRows, log, () => state.now, sleep);
  /** Advances the clock and waits for the next poll. */
  async function poll(passMs = 1_000): Promise<void> {
    state.now += passMs;
    wake?.();
    for (let i = 0; i < 10; i++) await Promise.resolve();
  }
  return { rows, state, poller, poll };
}

describe("the click poller", () => {
  test("delivers each click once, even if it is stored after younger ones", async () => {
    const anyClick = fc.record({
      /** The poll before which the click is stored, and how long after the click that is. */
      beforePoll: fc.integer({ min: 0, max: 30 }),
      delayMs: fc.integer({ min: 0, max: 10_000 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(anyClick, { maxLength: 60 }), async (clicks) => {
        const { rows, state, poller, poll } = createFixture();
        const received: string[] = [];
        poller.subscribe(LINK, (fresh) => received.push(...fresh.map(({ position }) => position)));
        await poll(0);
        for (let n = 0; n <= 30; n++) {
          for (const [i, click] of clicks.entries()) {
            if (click.beforePoll === n) rows.push(rowAt(state.now - click.delayMs, i));
          }
          await poll();
        }
        const stored = rows.map(({ position }) => position);
        expect(received.toSorted((a, b) => a.localeCompare(b))).toEqual(
          stored.toSorted((a, b) => a.localeCompare(b)),
        );
      }),
    );
  });

  test("delivers more clicks than one poll reads, each once", async () => {
    const { rows, state, poller, poll } = createFixture();
    for (let i = 0; i < 3 * ROWS_MAX; i++) rows.push(rowAt(state.now - 5_000 + i, i));
    const received: string[] = [];
    poller.subscribe(LINK, (fresh) => received.push(...fresh.map(({ position }) => position)));
    for (let n = 0; n < 6; n++) await poll();
    expect(received).toHaveLength(3 * ROWS_MAX);
    expect(new Set(received).size).toBe(3 * ROWS_MAX);
  });

  test("polls a link once for all subscribers, and stops after the last one", async () => {
    const { rows, state, poller, poll } = createFixture();
    const received = [0, 0, 0];
    const unsubscribers = received.map((_, i) =>
      poller.subscribe(LINK, (fresh) => void (received[i] = (received[i] ?? 0) + fresh.length)),
    );
    await poll(0);
    const before = state.queries;
    rows.push(rowAt(state.now, 1));
    await poll();
    expect([state.queries - before, received]).toEqual([1, [1, 1, 1]]);
    expect(poller.links()).toBe(1);
    for (const unsubscribe of unsubscribers) unsubscribe();
    await poll();
    const after = state.queries;
    for (let n = 0; n < 3; n++) await poll();
    expect([state.queries, poller.links()]).toEqual([after, 0]);
  });

  test("resumes after an outage of ClickHouse with the clicks stored meanwhile", async () => {
    const { rows, state, poller, poll } = createFixture();
    const received: string[] = [];
    poller.subscribe(LINK, (fresh) => received.push(...fresh.map(({ position }) => position)));
    await poll(0);
    state.failing = true;
    rows.push(rowAt(state.now, 1));
    await poll();
    expect(received).toEqual([]);
    state.failing = false;
    await poll(60_000);
    expect(received).toEqual(["000001"]);
  });
});
