/**
 * Goal: a limit counts what its link says, and people where it does not say it; a rule on referrers
 * can match.
 */
import { describe, expect, test } from "bun:test";

import { ApiError } from "../http/errors.ts";
import {
  changeSettings,
  type LinkSettings,
  prepareSettings,
  type SettingsChange,
} from "./settings.ts";

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

/** What is wrong with a rule on a referrer; undefined when nothing is. */
async function problemOf(value: string): Promise<string | undefined> {
  const allowed = {
    allowPrivate: false,
    shortUrl: new URL("https://sho.rt"),
    ownHosts: new Set<string>(),
  };
  const hosts = { isCustom: () => Promise.resolve(false) };
  const conditions = [{ type: "referrer" as const, in: ["direct", value] }];
  const rules = [{ url: "https://example.com/", conditions }];
  try {
    await prepareSettings({ rules }, allowed, hosts);
    return undefined;
  } catch (error) {
    return error instanceof ApiError ? error.message : String(error);
  }
}

describe("a referrer of a rule", () => {
  test.each([
    "google.com",
    "bbc.co.uk",
    "name.substack.com",
    "name.github.io",
    "xn--bcher-kva.de",
    "192.168.1.5",
    "localhost",
    "t.co",
    "com.google.android.gm",
    "org.telegram.messenger",
    "de.number26.android",
  ])("%s is one that clicks have", async (value) => {
    expect(await problemOf(value)).toBeUndefined();
  });

  test.each([
    ["m.facebook.com", "facebook.com"],
    ["news.google.com", "google.com"],
    ["news.bbc.co.uk", "bbc.co.uk"],
    ["a.name.substack.com", "name.substack.com"],
  ])("%s is none, and the error names %s", async (value, site) => {
    expect(await problemOf(value)).toBe(
      `Invalid value for "rules.0.conditions.0.in.1": must be a site, as clicks have it: ${site}.`,
    );
  });
});
