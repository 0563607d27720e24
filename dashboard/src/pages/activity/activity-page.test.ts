import { describe, expect, test } from "bun:test";

import type { LedgerEvent } from "../../../../clients/typescript/src/index.ts";
import { formatDateTime } from "../../ui/format.ts";
import { changesOf, subjectOf, typeName } from "./activity-page.tsx";

const eventOf = (type: string, data: LedgerEvent["data"]): LedgerEvent => ({
  id: "event_1",
  type,
  created_at: "2026-03-02T09:15:00.000Z",
  mode: "live",
  data,
  actor: { type: "system" },
});

const LINK = { id: "link_1", alias: "a", title: "Sale", short_url: "https://sho.rt/a" };

describe("what an event is about", () => {
  test.each([
    ["link.created", { link: LINK }, ["sho.rt/a", "Sale", "/links/link_1", "link_1"]],
    ["link.deleted", { link: LINK }, ["sho.rt/a", "Sale", undefined, "link_1"]],
    // A takedown has no short URL, and a link may have no title.
    [
      "link.taken_down",
      { link: { id: "link_1", alias: "a", title: null } },
      ["a", undefined, "/links/link_1", "link_1"],
    ],
    [
      "key.created",
      { key: { id: "key_1", name: "Shop" } },
      ["Shop", undefined, "/settings/keys", undefined],
    ],
    [
      "member.joined",
      { member: { name: "Ada", email: "a@b.example" } },
      ["Ada", "a@b.example", "/settings/members", undefined],
    ],
    [
      "webhook.disabled",
      { webhook: { id: "wh_1", url: "https://x.example/" } },
      ["https://x.example/", undefined, "/webhooks/wh_1", undefined],
    ],
  ])("of %s", (type, data, [name, detail, path, linkId]) => {
    expect(subjectOf(eventOf(type, data))).toEqual({ name: name ?? "", detail, path, linkId });
  });

  test("is left out if it is not known", () => {
    expect(subjectOf(eventOf("later.type", { thing: 1, link: "no" }))).toBeUndefined();
    expect(typeName("later.type")).toBe("later.type");
    expect(typeName("link.created")).toBe("Link created");
  });
});

test("changes are readable before and after", () => {
  const changes = {
    title: { before: null, after: "Sale" },
    tags: { before: [], after: ["a", "b"] },
    disabled: { before: false, after: true },
    expires_at: { before: null, after: "2030-01-01T00:00:00.000Z" },
    rules: { before: [{ url: "x" }], after: [] },
    url: { before: "https://a.example/", after: `https://a.example/${"x".repeat(300)}` },
  };
  const read = changesOf(eventOf("link.updated", { link: LINK, changes }));
  expect(read.slice(0, 5)).toEqual([
    { field: "title", before: "–", after: "Sale" },
    { field: "tags", before: "–", after: "a, b" },
    { field: "disabled", before: "no", after: "yes" },
    { field: "expires_at", before: "–", after: formatDateTime("2030-01-01T00:00:00.000Z") },
    { field: "rules", before: '[{"url":"x"}]', after: "–" },
  ]);
  expect(read[5]?.after).toHaveLength(201);
  expect(changesOf(eventOf("link.created", { link: LINK }))).toEqual([]);
  expect(changesOf(eventOf("link.updated", { changes: "odd" }))).toEqual([]);
});
