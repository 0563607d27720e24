import { expect, test } from "bun:test";

import { type FilteredEvent, match } from "./fan-out.ts";
import type { WebhookFilter } from "./leases.ts";

const ALL: WebhookFilter = { events: ["*"], link_ids: null, tags: null, domains: null };

const CREATED: FilteredEvent = { type: "link.created", link_id: "a", clicked_link_ids: null };

const LINKS = new Map([
  ["a", { tags: ["spring"], hosts: ["sho.rt"] }],
  ["b", { tags: [], hosts: ["go.example.com"] }],
]);

test.each([
  [{}, "all"],
  [{ events: ["link.created"] }, "all"],
  [{ events: ["link.deleted"] }, undefined],
  [{ link_ids: ["a"] }, "all"],
  [{ link_ids: ["b"] }, undefined],
  [{ tags: ["spring", "summer"] }, "all"],
  [{ tags: ["summer"] }, undefined],
  [{ domains: ["sho.rt"] }, "all"],
  [{ domains: ["go.example.com"] }, undefined],
  [{ tags: ["spring"], domains: ["go.example.com"] }, undefined],
] satisfies [Partial<WebhookFilter>, "all" | undefined][])("%j", (filter, expected) => {
  expect(match({ ...ALL, ...filter }, CREATED, LINKS)).toBe(expected);
});

test("of clicks, a webhook gets those of its links", () => {
  const clicks = { type: "clicks.recorded", link_id: null, clicked_link_ids: ["a", "b", "gone"] };
  expect(match({ ...ALL, tags: ["spring"] }, clicks, LINKS)).toEqual(["a"]);
  expect(match({ ...ALL, link_ids: ["gone"] }, clicks, LINKS)).toEqual(["gone"]);
  expect(match({ ...ALL, tags: ["summer"] }, clicks, LINKS)).toBeUndefined();
  expect(match(ALL, clicks, LINKS)).toBe("all");
});

test("a choice of links does not concern other events, and nobody else gets a test", () => {
  const event = { type: "key.created", link_id: null, clicked_link_ids: null };
  expect(match({ ...ALL, link_ids: ["a"] }, event, LINKS)).toBe("all");
  expect(match(ALL, { ...event, type: "webhook.test" }, LINKS)).toBeUndefined();
});
