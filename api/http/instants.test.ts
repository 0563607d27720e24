/**
 * Goal: an instant that a store or a response cannot write is the request's fault, on every route
 * that takes one.
 */
import { expect, test } from "bun:test";

import { instant } from "../../shared/contracts/text-schemas.ts";
import { errorCodeOf, FakeApi } from "../../test/harness/fake-api.ts";
import { writeCursor } from "./pagination.ts";

// Without services: a request that gets past its schemas fails with 500.
const api = new FakeApi();

const OUTSIDE = [
  "0000-01-01T00:00:00Z",
  "0000-12-31T23:59:59Z",
  "0001-01-01T00:00:00+00:01",
  "9999-12-31T23:59:59-23:59",
  "9999-12-31T23:59:59.999-00:01",
];

const URL = "https://example.com/";
const LINK = "/v1/links/link_01h455vb4pex5vsknk084sn02q";
const within = (condition: object) => [{ url: URL, conditions: [{ type: "time", ...condition }] }];

test.each(OUTSIDE)("%s is rejected wherever an instant is sent in a body", async (at) => {
  const key = api.addKey();
  const requests: [path: string, body: object][] = [
    ["/v1/links", { url: URL, expires_at: at }],
    ["/v1/links", { url: URL, starts_at: at }],
    ["/v1/links", { url: URL, rules: within({ from: at }) }],
    ["/v1/links", { url: URL, rules: within({ until: at }) }],
    ["/v1/links", { url: URL, split: { arms: [{ url: URL, weight: 50 }], until: at } }],
    ["/v1/keys", { name: "k", scopes: ["links:read"], expires_at: at }],
    ["/v1/shares", { expires_at: at }],
    [`${LINK}/explain`, { at }],
  ];
  for (const [path, body] of requests) {
    const response = await api.send(path, { key, body });
    expect([path, response.status, errorCodeOf(response)]).toEqual([path, 400, "invalid_request"]);
  }
});

test.each(OUTSIDE)("%s is rejected in the filters of a list", async (at) => {
  for (const name of ["created_after", "created_before"]) {
    const path = `/v1/links?${name}=${encodeURIComponent(at)}`;
    const response = await api.send(path, { key: api.addKey() });
    expect([response.status, errorCodeOf(response)]).toEqual([400, "invalid_request"]);
  }
});

test("a cursor beyond the last year is rejected", async () => {
  const id = "00000000-0000-0000-0000-000000000000";
  for (const list of ["domains", "keys", "shares"]) {
    const cursor = writeCursor([list, Date.parse("+010000-01-01T00:00:00Z"), id]);
    const response = await api.send(`/v1/${list}?starting_after=${cursor}`, { key: api.addKey() });
    expect([list, response.status]).toEqual([list, 400]);
  }
});

test.each(["0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z", "2030-01-01T00:00:00+14:00"])(
  "%s is an instant",
  (at) => expect(instant.safeParse(at).success).toBe(true),
);

test("what is no date is one problem, not two", () => {
  for (const text of ["", "x", "2026-02-30T00:00:00Z", "2026-01-01T00:00:00"]) {
    expect(instant.safeParse(text).error?.issues).toHaveLength(1);
  }
});

test.each([
  // PHP's DATE_ISO8601, Python's %z, Bitly.
  ["2030-01-31T12:00:00+0100", "2030-01-31T12:00:00+01:00"],
  // PostgreSQL.
  ["2030-01-31 12:00:00.123456+01", "2030-01-31T12:00:00.123456+01:00"],
  ["20300131T120000Z", "2030-01-31T12:00:00Z"],
  ["20300131T1200-0530", "2030-01-31T12:00:00-05:30"],
  ["2030-01-31t12:00:00,5z", "2030-01-31T12:00:00.5Z"],
  // The plus sign of a query that is not encoded is a blank.
  ["2030-01-31T12:00:00 01:00", "2030-01-31T12:00:00+01:00"],
  ["2030-01-31T12:00Z", "2030-01-31T12:00:00Z"],
])("%s is the instant %s, as ISO 8601 has several forms", (written, read) => {
  expect(instant.parse(written)).toBe(read);
  expect(Number.isNaN(Date.parse(read))).toBe(false);
});
