/**
 * Goal: long work lets others have their turn, and several pieces of it take no more of a turn than
 * one.
 */
import { expect, test } from "bun:test";

import { TimeSlice } from "./time-slice.ts";

/** Works until so many turns have been over; adds its name for each. */
async function work(name: string, turns: number, log: string[]): Promise<void> {
  const slice = new TimeSlice(0);
  for (let i = 0; i < turns; i++) {
    expect(slice.isOver()).toBe(true);
    log.push(name);
    await slice.next();
  }
}

test("a turn is over after its time, and the next one is not", async () => {
  const slice = new TimeSlice(20);
  expect(slice.isOver()).toBe(false);
  while (!slice.isOver());
  await slice.next();
  expect(slice.isOver()).toBe(false);
});

test("what arrives meanwhile runs between two turns", async () => {
  const log: string[] = [];
  const server = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data: () => undefined } });
  let connected = false;
  const long = work("long", 2_000, log);
  await Bun.connect({
    hostname: "127.0.0.1",
    port: server.port,
    socket: { open: () => void (connected = true), data: () => undefined },
  });
  expect(connected).toBe(true);
  // The work has not ended before that.
  expect(log.filter((name) => name === "long").length).toBeLessThan(2_000);
  await long;
  server.stop(true);
});

test("works take turns, one in each turn of the event loop", async () => {
  const log: string[] = [];
  let loops = 0;
  let isCounting = true;
  const count = (): void => {
    loops++;
    if (isCounting) setImmediate(count);
  };
  setImmediate(count);
  await Promise.all([work("a", 20, log), work("b", 20, log), work("c", 20, log)]);
  isCounting = false;
  expect(log.join("")).toBe("abc".repeat(20));
  expect(loops).toBeGreaterThanOrEqual(55);
});
