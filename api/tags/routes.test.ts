/**
 * Goal: tags of any name are reached by their path, and lists continue only in the order in which
 * they began.
 */
import { beforeEach, expect, test } from "bun:test";

import * as z from "zod";

import { createFakeApi, errorCodeOf, type FakeKey } from "../../test/harness/fake-api.ts";
import type { TagsRequest } from "./listing.ts";
import type { CountedTag } from "./model.ts";

let key: FakeKey;
let calls: unknown[];

const tag: CountedTag = { name: "spring", color: "green", links: 2, clicks: null };

const api = createFakeApi({
  tags: {
    list: async (_, request) => {
      calls.push(request);
      return { rows: [tag], next: [2, "spring"] };
    },
    change: async (_, name, body) => {
      calls.push([name, body]);
      return { ...tag, changed: 1, done: true };
    },
    remove: async (_, name) => {
      calls.push(name);
      return { changed: 1, done: true };
    },
  },
});
beforeEach(() => {
  calls = [];
  key = api.addKey();
});

test("a list continues by its cursor in the same order, and in no other", async () => {
  const first = await api.send("/v1/tags?sort=links&search=Sp&limit=1", { key });
  const { data, next_cursor: cursor } = z
    .object({ data: z.array(z.unknown()), next_cursor: z.string() })
    .parse(first.body);
  expect(data).toEqual([tag]);
  await api.send(`/v1/tags?sort=links&starting_after=${cursor}`, { key });
  const requests: TagsRequest[] = [
    { sort: "links", search: "Sp", limit: 1, after: null },
    { sort: "links", search: "", limit: 20, after: [2, "spring"] },
  ];
  expect(calls).toEqual(requests);
  for (const sort of ["name", "clicks"]) {
    const other = await api.send(`/v1/tags?sort=${sort}&starting_after=${cursor}`, { key });
    expect([other.status, errorCodeOf(other)]).toEqual([400, "invalid_request"]);
  }
});

test.each(["spring", "a/b", "50%", "merge", "?x#y", "ü ✓", "%2F"])(
  "the tag %p is reached by its name",
  async (name) => {
    const path = `/v1/tags/${encodeURIComponent(name)}`;
    const changed = await api.send(path, { method: "PATCH", key, body: { color: "red" } });
    const removed = await api.send(path, { method: "DELETE", key });
    expect([changed.status, removed.status]).toEqual([200, 200]);
    expect(calls).toEqual([[name, { color: "red" }], name]);
  },
);
