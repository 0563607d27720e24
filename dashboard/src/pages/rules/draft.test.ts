import { expect, test } from "bun:test";

import { fullLink } from "../../../../test/harness/full-link.ts";
import { moveEntry, newArm, newCondition, newRule, readDraft, toDraft } from "./draft.ts";

const URL = "https://example.com/";

test("what the API returns survives editing without a change", () => {
  const rules = [
    {
      id: "rule_a",
      url: `${URL}a`,
      conditions: [
        { type: "country" as const, in: ["DE", "AT"] },
        { type: "language" as const, in: ["de"], not: true },
        { type: "query" as const, name: "beta" },
        // What inputs cannot show: seconds, years of five digits, an empty value, a comma in one.
        { type: "query" as const, name: "city", in: ["", "Paris, TX"] },
        {
          type: "time" as const,
          from: "2030-01-01T08:00:15.250Z",
          until: "9999-12-31T23:59:59.000Z",
        },
        {
          type: "schedule" as const,
          timezone: "Europe/Berlin",
          days: [1, 7],
          from: "22:00",
          to: "02:00",
        },
      ],
    },
  ];
  const split = {
    arms: [{ id: "arm_a", label: "New page", url: `${URL}b`, weight: 30 }],
    until: "2030-02-01T00:00:59.000Z",
  };
  expect(readDraft(toDraft(fullLink({ rules, split })))).toEqual({ change: { rules, split } });
  expect(readDraft(toDraft(fullLink()))).toEqual({ change: { rules: [], split: null } });
});

test("what is wrong is said at its place", () => {
  const rule = {
    ...newRule(),
    url: "ftp://x",
    conditions: [newCondition("device"), { ...newCondition("country"), values: "DE, Nowhere" }],
  };
  const arms = [
    { ...newArm(), url: URL, weight: "60" },
    { ...newArm(), url: URL, weight: "50" },
  ];
  const read = readDraft({ rules: [rule], arms, until: "", storedUntil: null });
  const errors = "errors" in read ? read.errors : {};
  expect(Object.keys(errors).toSorted()).toEqual([
    "arms",
    "rules.0.conditions.0",
    "rules.0.conditions.1",
    "rules.0.url",
  ]);
});

test("an entry moves up and down", () => {
  expect(moveEntry(["a", "b", "c"], 2, 0)).toEqual(["c", "a", "b"]);
  expect(moveEntry(["a", "b", "c"], 0, 1)).toEqual(["b", "a", "c"]);
});

test("rules and arms are added on a page without https, where browsers have no randomUUID", () => {
  Object.defineProperty(crypto, "randomUUID", { value: undefined, configurable: true });
  try {
    expect(newRule().key).not.toBe(newRule().key);
    expect(newArm().key).not.toBe(newArm().key);
  } finally {
    Reflect.deleteProperty(crypto, "randomUUID");
  }
});
