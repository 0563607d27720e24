/**
 * Goal: a link that leads somebody to another site than before says since when, however it came to
 * that.
 */
import { describe, expect, test } from "bun:test";

import { linkRow } from "../../test/harness/link-row.ts";
import type { LinkRow } from "./model.ts";
import { applyChange, type LinkChange } from "./prepare-link.ts";

type Settings = NonNullable<LinkRow["extras"]>;
type Rule = NonNullable<Settings["rules"]>[number];

const LINK = linkRow();
const ELSEWHERE = "https://elsewhere.example.org/";
const SAME_SITE = "https://example.com/other";

const rule = (url: string, country = "DE"): Rule => ({
  id: "rule_1",
  url,
  conditions: [{ type: "country", in: [country] }],
});
const split = (url: string, weight = 50): Settings["split"] => ({
  key: 1,
  arms: [{ id: "arm_1", url, weight }],
  until: null,
});
const withSettings = (extras: Settings): LinkRow => ({ ...LINK, extras });

const noted = (old: LinkRow, { columns = {}, settings = {} }: Partial<LinkChange>): boolean =>
  applyChange(old, { columns, settings }).extras?.host_changed_at !== undefined;

describe("noted is", () => {
  test.each<[string, LinkRow, Partial<LinkChange>]>([
    ["another host of the destination", LINK, { columns: { target_url: ELSEWHERE } }],
    ["a rule that leads to another site", LINK, { settings: { rules: [rule(ELSEWHERE)] } }],
    ["an arm that leads to another site", LINK, { settings: { split: split(ELSEWHERE) } }],
    [
      "a rule that is for others now",
      withSettings({ rules: [rule(ELSEWHERE, "AQ")] }),
      { settings: { rules: [rule(ELSEWHERE)] } },
    ],
    [
      "a rule that is no more",
      withSettings({ rules: [rule(ELSEWHERE)] }),
      { settings: { rules: undefined } },
    ],
    [
      "a larger share of the visitors",
      withSettings({ split: split(ELSEWHERE, 1) }),
      { settings: { split: split(ELSEWHERE, 99) } },
    ],
  ])("%s", (_, old, changes) => expect(noted(old, changes)).toBe(true));
});

describe("not noted is", () => {
  test.each<[string, LinkRow, Partial<LinkChange>]>([
    ["another address of the site", LINK, { columns: { target_url: SAME_SITE } }],
    ["a rule within the site", LINK, { settings: { rules: [rule(SAME_SITE)] } }],
    [
      "another title of a link with rules",
      withSettings({ rules: [rule(ELSEWHERE)] }),
      { columns: { title: "Title" } },
    ],
    [
      "another address of the other site",
      withSettings({ rules: [rule(ELSEWHERE)] }),
      { settings: { rules: [rule(`${ELSEWHERE}more`)] } },
    ],
  ])("%s", (_, old, changes) => expect(noted(old, changes)).toBe(false));
});
