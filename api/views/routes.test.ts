/**
 * Goal: views are listed, saved and deleted by the right keys, and what no view can be is rejected.
 */
import { beforeEach, describe, expect, test } from "bun:test";

import {
  createFakeApi,
  errorCodeOf,
  type FakeApi,
  type FakeKey,
} from "../../test/harness/fake-api.ts";
import type { NamedQuery, ViewRow } from "./service.ts";

const NOW = new Date("2030-01-01T00:00:00Z");

let saved: unknown[];
let deleted: string[];
let api: FakeApi;
let key: FakeKey;

const toRow = (view: NamedQuery): ViewRow => ({
  ...view,
  created_at: NOW,
  updated_at: NOW,
});

beforeEach(() => {
  saved = [];
  deleted = [];
  api = createFakeApi({
    views: {
      list: async () => [toRow({ name: "Phones", query: "device=mobile" })],
      save: async (_, __, view) => {
        saved.push(view);
        return toRow(view);
      },
      remove: async (_, __, name) => void deleted.push(name),
    },
  });
  key = api.addKey();
});

const put = (name: string, body: unknown, by: FakeKey | undefined = key) =>
  api.send(`/v1/views/${name}`, { method: "PUT", key: by, body });

describe("/v1/views", () => {
  test("lists views with their query and times", async () => {
    const { status, body } = await api.send("/v1/views", { key });
    expect([status, body]).toEqual([
      200,
      {
        data: [
          {
            name: "Phones",
            query: "device=mobile",
            created_at: NOW.toISOString(),
            updated_at: NOW.toISOString(),
          },
        ],
      },
    ]);
  });

  test("saves a view under the name in the path, whatever characters it has", async () => {
    const name = "Müller & Söhne / 50 %";
    const { status, body } = await put(encodeURIComponent(name), { query: "utm_source=a%2Fb&x=" });
    expect([status, body]).toMatchObject([200, { name, query: "utm_source=a%2Fb&x=" }]);
    expect(saved).toEqual([{ name, query: "utm_source=a%2Fb&x=" }]);
  });

  test.each([
    ["a query with a question mark", { query: "?period=7d" }],
    ["a query with a space", { query: "tag=a b" }],
    ["a query with other characters than ASCII", { query: "tag=ä" }],
    ["a query of 8,001 characters", { query: "x".repeat(8_001) }],
    ["no query", {}],
    ["an unknown field", { query: "", name: "Other" }],
  ])("rejects %s, and changes nothing", async (_, body) => {
    const response = await put("Phones", body);
    expect([response.status, errorCodeOf(response)]).toEqual([400, "invalid_request"]);
    expect(saved).toEqual([]);
  });

  test("takes queries of up to 8,000 characters, also an empty one", async () => {
    expect((await put("Long", { query: "x".repeat(8_000) })).status).toBe(200);
    expect((await put("All", { query: "" })).status).toBe(200);
  });

  test.each(["%20", "x".repeat(101), "a%00b"])("rejects the name %p", async (name) => {
    const response = await put(name, { query: "period=7d" });
    expect([response.status, errorCodeOf(response)]).toEqual([400, "invalid_request"]);
    expect(saved).toEqual([]);
  });

  test("deletes a view by its name", async () => {
    const { status } = await api.send("/v1/views/50%20%25", { method: "DELETE", key });
    expect([status, deleted]).toEqual([200, ["50 %"]]);
  });
});
