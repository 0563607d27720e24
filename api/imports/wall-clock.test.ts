/** Goal: a local time of a source is the instant that its zone's rules give. */
import { expect, test } from "bun:test";

import { WallClock } from "./source.ts";

test.each([
  ["UTC", "2024-02-29 23:59:59", "2024-02-29T23:59:59Z"],
  ["+02:00", "2024-02-29 01:00:00", "2024-02-28T23:00:00Z"],
  ["Asia/Kathmandu", "2024-01-01 00:15:07", "2023-12-31T18:30:07Z"],
  ["America/New_York", "2024-07-01 12:00:00", "2024-07-01T16:00:00Z"],
  // Twice, and never.
  ["America/New_York", "2024-11-03 01:30:00", "2024-11-03T05:30:00Z"],
  ["America/New_York", "2024-03-10 02:30:00", "2024-03-10T06:30:00Z"],
])("in %s, %s is %s", (zone, text, instant) => {
  const clock = new WallClock(zone);
  for (let i = 0; i < 2; i++) expect(clock.toInstant(text)).toEqual(new Date(instant));
});

test("a text that is no time is no instant, and a text that is no zone is refused", () => {
  const clock = new WallClock("UTC");
  // MySQL stores dates that there are not if it is told to.
  for (const text of ["0000-00-00 00:00:00", "2026-02-30 10:00:00", "2026-01-01 24:00:00", "now"])
    expect(clock.toInstant(text).getTime()).toBeNaN();
  expect(() => new WallClock("Nowhere/Here")).toThrow();
});
