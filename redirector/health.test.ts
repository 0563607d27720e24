/**
 * Goal: a redirector says that clicks wait before any are lost, and says nothing while all is well.
 */
import { expect, test } from "bun:test";

import { clicksWarning } from "./health.ts";

const WELL = { segments: 3, seconds: 0.2, journalBytes: 1_000, journalBytesMax: 100_000 };

test.each([
  ["segments are taken", WELL, undefined],
  ["another leader is elected", { ...WELL, seconds: 10 }, undefined],
  ["NATS is away", { ...WELL, seconds: 61.5 }, "NATS has taken none of 3 segments for 61 s"],
  [
    "the journal fills",
    { ...WELL, journalBytes: 75_000 },
    "the journal is 75 % full; when it is full, clicks are lost",
  ],
  [
    "the journal is full",
    { ...WELL, seconds: 900, journalBytes: 100_000 },
    "NATS has taken none of 3 segments for 900 s; the journal is 100 % full; when it is full, clicks are lost",
  ],
])("while %s", (_, waiting, warning) => {
  expect(clicksWarning(waiting)).toBe(warning);
});
