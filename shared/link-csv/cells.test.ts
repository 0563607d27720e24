/** Goal: a date is read as it is meant, and never guessed where it could mean two days. */
import { describe, expect, test } from "bun:test";

import { findDateOrder, normalizeOrder, readFlag, readInstant } from "./cells.ts";

describe("a date", () => {
  test.each([
    ["31.12.2026", undefined, "2026-12-31T00:00:00.000Z"],
    ["3.4.2026", undefined, "2026-04-03T00:00:00.000Z"],
    ["03.04.2026 9:05", undefined, "2026-04-03T09:05:00.000Z"],
    ["03.04.2026, 14:30:10", "month", "2026-04-03T14:30:10.000Z"],
    ["31/12/2026", undefined, "2026-12-31T00:00:00.000Z"],
    ["12/31/2026", undefined, "2026-12-31T00:00:00.000Z"],
    ["12-31-2026", "day", "2026-12-31T00:00:00.000Z"],
    ["03/04/2026", "day", "2026-04-03T00:00:00.000Z"],
    ["03/04/2026", "month", "2026-03-04T00:00:00.000Z"],
    ["05/05/2026", undefined, "2026-05-05T00:00:00.000Z"],
    ["2026-12-31", "month", "2026-12-31T00:00:00.000Z"],
    // As spreadsheets of East Asia and Hungary write them, and Excel an hour below ten.
    ["2026/12/31", "day", "2026-12-31T00:00:00.000Z"],
    ["2026/1/5 9:05", undefined, "2026-01-05T09:05:00.000Z"],
    ["2026. 01. 05. 9:05:07", undefined, "2026-01-05T09:05:07.000Z"],
    ["2026-01-05 9:05", undefined, "2026-01-05T09:05:00.000Z"],
    // As programs and databases write offsets: also without minutes, as PostgreSQL does.
    ["2026-12-31 23:59:59+00", undefined, "2026-12-31T23:59:59.000Z"],
    ["2026-12-31 23:59:59.123456-05", undefined, "2027-01-01T04:59:59.123Z"],
    ["2026-12-31T23:59+0530", undefined, "2026-12-31T18:29:00.000Z"],
    ["2026-12-31 23:59:59 UTC", undefined, "2026-12-31T23:59:59.000Z"],
    ["12/31/2026 2:30 PM", undefined, "2026-12-31T14:30:00.000Z"],
    ["31/12/2026 12:05:06am", undefined, "2026-12-31T00:05:06.000Z"],
  ] as const)("%s, with the %s first, is %s", (text, order, instant) => {
    expect(readInstant(normalizeOrder(text, order) ?? text)).toBe(instant);
  });

  test.each([
    ["03/04/2026", "in which both could be the month"],
    ["31.02.2026", "which no year has"],
    ["31/31/2026", "without a month"],
    ["1/2/26", "of two digits for the year"],
    ["31.12/2026", "with two marks"],
    ["31.12.2026 25", "with half a time"],
    ["2026/31/12", "with its day before the month"],
  ])("%s is not read, %s", (text) => {
    const read = readInstant(normalizeOrder(text, undefined) ?? text);
    expect(Number.isNaN(Date.parse(read)) || read === text || read === "2026-02-31").toBe(true);
  });
});

test.each([
  ["no dates", ["", "x", "2026-01-02"], false, undefined],
  ["only dots", ["03.04.2026", "31.12.2026"], false, undefined],
  ["only ambiguous ones", ["03/04/2026"], true, undefined],
  ["one that shows the day first", ["03/04/2026", "31/12/2026"], true, "day"],
  ["one that shows the month first", ["03/04/2026", "12/31/2026"], true, "month"],
  ["both orders", ["03/04/2026", "12/31/2026", "31/12/2026"], true, undefined],
  ["an order, and dots", ["12/31/2026", "31.12.2026"], false, "month"],
] as const)("%s: the order of a file", (_, texts, isAmbiguous, order) => {
  expect(findDateOrder(texts)).toEqual({ isAmbiguous, order });
});

test.each([
  ["TRUE", true],
  ["WAAR", true],
  ["VERO", true],
  ["DOĞRU", true],
  ["ИСТИНА", true],
  ["FAŁSZ", false],
  ["YANLIŞ", false],
  ["EPÄTOSI", false],
  ["maybe", "maybe"],
])("%s, as a spreadsheet may have written a cell, is %p", (text, value) => {
  expect(readFlag(text)).toBe(value);
});
