/** Goal: a limit counts what its link says, and people where it does not say it. */
import { describe, expect, test } from "bun:test";

import { changeSettings, type SettingsChange } from "./change.ts";
import type { LinkSettings } from "./model.ts";

const LEDGER = { id: "0190a5a2-0000-7000-8000-000000000001", before: 3 };
const HUMAN: LinkSettings = { max_clicks: 5, limit_counts: "human", ledger: LEDGER };
const ALL: LinkSettings = { max_clicks: 5, ledger: LEDGER };

describe("what a limit counts", () => {
  test.each<[string, LinkSettings | null, SettingsChange, "human" | undefined]>([
    ["a new limit that does not say it", null, { max_clicks: 1 }, "human"],
    ["a new limit of a link with settings", { confirm: true }, { max_clicks: 1 }, "human"],
    ["a new limit that says people", null, { max_clicks: 1, limit_counts: "human" }, "human"],
    ["a new limit that says all", null, { max_clicks: 1, limit_counts: undefined }, undefined],
    ["another limit of people", HUMAN, { max_clicks: 6 }, "human"],
    ["another limit of all", ALL, { max_clicks: 6 }, undefined],
    [
      "a limit that is said to count all from now on",
      HUMAN,
      { limit_counts: undefined },
      undefined,
    ],
    ["a limit that is said to count people from now on", ALL, { limit_counts: "human" }, "human"],
    ["another setting", ALL, { confirm: true }, undefined],
    ["no limit any more", HUMAN, { max_clicks: undefined }, undefined],
    ["no limit at all", null, { limit_counts: "human" }, undefined],
  ])("of %s", (_what, old, change, expected) => {
    expect(changeSettings(old, change)?.limit_counts).toBe(expected);
  });
});
