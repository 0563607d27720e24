import { describe, expect, test } from "bun:test";

import fc from "fast-check";
import { Registry } from "prom-client";

import {
  Backlog,
  EventLoopSampler,
  EventLoopWatch,
  SlidingMax,
  splitDelay,
  type Tick,
} from "./event-loop.ts";

/** Blocks for this much CPU time: time that a busy machine adds is not a stall. */
function block(ms: number): void {
  const start = process.cpuUsage();
  for (;;) {
    const { user, system } = process.cpuUsage(start);
    if ((user + system) / 1_000 >= ms) return;
  }
}

async function ticksOf(work: () => Promise<void>): Promise<Tick[]> {
  const ticks: Tick[] = [];
  const sampler = new EventLoopSampler((tick) => void ticks.push(tick));
  await work();
  sampler.stop();
  return ticks;
}

const stallOf = (tick: Tick): number => splitDelay(tick).stallMs;

test.each([
  ["its own work", { lateMs: 200, cpuWaitMs: 0, cpuMs: 205 }, { stallMs: 200, blockedMs: 0 }],
  ["other programs", { lateMs: 200, cpuWaitMs: 195, cpuMs: 8 }, { stallMs: 5, blockedMs: 0 }],
  ["a system call", { lateMs: 200, cpuWaitMs: 0, cpuMs: 1 }, { stallMs: 1, blockedMs: 199 }],
  [
    "nobody knows what",
    { lateMs: 200, cpuWaitMs: 0, cpuMs: Infinity },
    { stallMs: 200, blockedMs: 0 },
  ],
])("a timer that is late by %s is put down to that", (_cause, tick, expected) => {
  expect(splitDelay(tick)).toEqual(expected);
});

describe("the sampler", () => {
  test("measures almost no stalls in an idle process, however busy the machine", async () => {
    const ticks = await ticksOf(() => Bun.sleep(1_500));
    expect(ticks.length).toBeGreaterThan(0);
    const stalled = ticks.map(stallOf).filter((ms) => ms >= 20);
    expect(stalled.reduce((sum, ms) => sum + ms, 0)).toBeLessThan(250);
  });
});

test("the metrics count a stall once, and report the longest one at every scrape of the next minute", async () => {
  const registry = new Registry();
  const watching = new EventLoopWatch(registry);
  const read = async (name: string): Promise<number> => {
    const line = new RegExp(`^${name} (.+)$`, "m").exec(await registry.metrics());
    return Number(line?.[1]);
  };
  // Nothing stalls meanwhile.
  await Bun.sleep(30);
  expect(await read("shorthop_event_loop_stall_seconds_count")).toBeLessThanOrEqual(1);
  const before = await read("shorthop_event_loop_stall_seconds_sum");
  block(300);
  await Bun.sleep(30);
  watching.stop();
  // A part of it: other threads of the process use the CPU as well.
  for (const scrape of [1, 2]) {
    const longest = await read("shorthop_event_loop_stall_max_seconds");
    expect(longest, `scrape ${scrape}`).toBeGreaterThan(0.05);
    expect(longest).toBeLessThan(2);
  }
  expect((await read("shorthop_event_loop_stall_seconds_sum")) - before).toBeGreaterThan(0.05);
  expect(await read("shorthop_event_loop_cpu_wait_seconds_total")).toBeGreaterThanOrEqual(0);
});

test("a sliding maximum covers exactly the values of the last slots", () => {
  const values = fc.array(fc.tuple(fc.nat(3), fc.double({ min: 0, max: 1e6, noNaN: true })));
  fc.assert(
    fc.property(values, fc.integer({ min: 1, max: 8 }), (steps, slots) => {
      const max = new SlidingMax(slots);
      const all: { slot: number; value: number }[] = [];
      let slot = 0;
      for (const [step, value] of steps) {
        slot += step;
        max.add(slot, value);
        all.push({ slot, value });
        const recent = all.filter((one) => one.slot > slot - slots).map((one) => one.value);
        expect(max.read(slot)).toBe(Math.max(0, ...recent));
      }
      expect(max.read(slot + slots)).toBe(0);
    }),
  );
});

/**
 * Adds turns one after the other, each of which stalls the event loop for so long; returns whether
 * it is behind then.
 */
function isBehindAfter(stalls: readonly number[]): boolean {
  const backlog = new Backlog();
  let now = 1_000;
  for (const stall of stalls) backlog.add(stall, (now += stall + 10));
  return backlog.isBehind;
}

test.each([
  ["nothing", [], false],
  ["one long turn", [900], false],
  ["two long turns", [900, 900], true],
  ["long turns for half a second", Array<number>(9).fill(60), true],
  ["long turns for less", Array<number>(8).fill(60), false],
  ["long turns, one of which was short", [...Array<number>(6).fill(60), 5, 60], false],
  ["many turns of 49 ms", Array<number>(100).fill(49), false],
])("after %s", (_name, stalls, expected) => {
  expect(isBehindAfter(stalls)).toBe(expected);
});

test("after a turn that was not late, it is not behind, whatever came before", () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 2_000 })), fc.nat({ max: 49 }), (stalls, last) => {
      expect(isBehindAfter([...stalls, last])).toBe(false);
    }),
  );
});
