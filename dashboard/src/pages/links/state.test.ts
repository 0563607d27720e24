import { describe, expect, test } from "bun:test";

import { describeFeatures, describeState, type StatefulLink } from "./state.tsx";

const NOW = Date.parse("2026-11-22T12:00:00Z");
const NONE = { expires_at: null };

const labels = (link: StatefulLink) => describeState(link, NOW).map(({ label }) => label);

describe("the state of a link", () => {
  test("is nothing for a link that redirects", () => {
    expect(labels(NONE)).toEqual([]);
    expect(labels({ ...NONE, status: "active" })).toEqual([]);
  });

  test("says what visitors get where they are not redirected", () => {
    for (const status of ["taken_down", "disabled", "expired", "limit_reached"] as const) {
      const [state] = describeState({ ...NONE, status }, NOW);
      expect(state?.bad).toBe(true);
      expect(state?.meaning?.toLowerCase()).toContain("visitors");
    }
    const over = { ...NONE, expired_url: "https://example.com/over" };
    for (const status of ["expired", "limit_reached"] as const) {
      expect(describeState({ ...over, status }, NOW)[0]?.meaning).toContain(over.expired_url);
    }
  });

  test("is expired for a plain link whose expiry has passed, and names one to come", () => {
    expect(labels({ expires_at: "2026-11-22T11:00:00Z" })).toEqual(["Expired"]);
    expect(labels({ expires_at: "2026-12-24T11:00:00Z" })).toEqual(["Until Dec 24, 2026"]);
  });

  test("names the clicks that are left, and an archived link as such", () => {
    const link = { ...NONE, status: "active", clicks_left: 1, archived: true } as const;
    expect(labels(link)).toEqual(["1 click left", "Archived"]);
  });
});

describe("the features of a link", () => {
  test("are none for a plain link", () => {
    expect(describeFeatures({ expires_at: null })).toEqual([]);
    expect(describeFeatures({ expires_at: null, has_password: false, rules: [] })).toEqual([]);
  });

  test("name password, rules, split and confirmation", () => {
    const rule = { id: "rule_1", url: "https://example.com/", conditions: [] };
    const split = { arms: [], until: null };
    const features = { has_password: true, rules: [rule, rule], split };
    const labels = describeFeatures({ ...features, confirm: true, expires_at: null }).map(
      ({ label }) => label,
    );
    expect(labels).toEqual(["Password", "2 rules", "Split", "Asks first"]);
  });
});
