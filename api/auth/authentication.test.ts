/**
 * Goal: every route authenticates and authorizes a request before it looks at anything else of it.
 */
import { beforeAll, describe, expect, test } from "bun:test";

import { createFakeApi, errorCodeOf, type FakeApi } from "../../test/harness/fake-api.ts";
import { generateKey } from "./api-key.ts";

let api: FakeApi;
beforeAll(() => {
  api = createFakeApi({ links: { list: async () => ({ rows: [], total: 0, next: null }) } });
});

const requestIdOf = async (sent: string) =>
  (await api.send("/v1/links", { headers: { "x-request-id": sent } })).headers.get("x-request-id");

const sendFrom = (address: string) =>
  api.send("/v1/links", { headers: { "x-forwarded-for": address } });

/** A route of each resource. */
const ROUTES: [method: string, path: string, scope: string][] = [
  ["POST", "/v1/links", "links:write"],
  ["GET", "/v1/links", "links:read"],
  ["DELETE", "/v1/links/link_x", "links:delete"],
  ["GET", "/v1/analytics/link_x", "analytics:read"],
  ["POST", "/v1/analytics/bulk", "analytics:read"],
  ["GET", "/v1/domains", "domains:read"],
  ["POST", "/v1/domains", "domains:write"],
  ["GET", "/v1/keys", "keys:read"],
  ["POST", "/v1/keys", "keys:write"],
];

describe.each(ROUTES)("%s %s", (method, path, scope) => {
  test("needs a key", async () => {
    const response = await api.send(path, { method });
    expect([response.status, errorCodeOf(response)]).toEqual([401, "unauthorized"]);
  });

  test(`needs the scope ${scope}`, async () => {
    const response = await api.send(path, { method, key: api.addKey({ scopes: [] }) });
    expect([response.status, errorCodeOf(response)]).toEqual([403, "forbidden"]);
    expect(response.text).toContain(scope);
  });
});

describe("a key", () => {
  test.each([
    ["revoked", 403, "key_revoked"],
    ["expired", 401, "unauthorized"],
    ["barred", 403, "forbidden"],
  ] as const)("that is %s is rejected", async (state, status, code) => {
    const response = await api.send("/v1/links", { key: api.addKey({ state }) });
    expect([response.status, errorCodeOf(response)]).toEqual([status, code]);
  });

  test("that does not exist is rejected, as is one with a typo", async () => {
    const { key } = api.addKey();
    const typo = `${key.slice(0, -1)}${key.endsWith("A") ? "B" : "A"}`;
    for (const wrong of [generateKey("live").key, typo, "", "x".repeat(10_000)]) {
      const response = await api.send("/v1/links", { key: wrong });
      expect([response.status, errorCodeOf(response)]).toEqual([401, "unauthorized"]);
    }
  });

  test("is read only from the Authorization header", async () => {
    const { key } = api.addKey();
    const response = await api.send(`/v1/links?api_key=${key}`, {
      headers: { "x-api-key": key, cookie: `key=${key}` },
    });
    expect([response.status, errorCodeOf(response)]).toEqual([401, "unauthorized"]);
    expect(
      (await api.send("/v1/links", { headers: { authorization: `bearer ${key}` } })).status,
    ).toBe(200);
  });

  test("is never part of a response", async () => {
    const key = api.addKey({ scopes: [] });
    const response = await api.send("/v1/links", { key });
    expect(response.text + JSON.stringify([...response.headers])).not.toContain(key.key);
  });
});

describe("a request", () => {
  test("for an unknown path gets 404, and with a wrong method 405 with the methods it takes", async () => {
    const unknown = await api.send("/v1/nothing");
    expect([unknown.status, errorCodeOf(unknown)]).toEqual([404, "not_found"]);
    const wrong = await api.send("/v1/links", { method: "PUT", key: api.addKey() });
    expect([wrong.status, errorCodeOf(wrong)]).toEqual([405, "method_not_allowed"]);
    // Not an id: the path exists as it is, and the message names what does what was meant.
    const fixed = await api.send("/v1/links/bulk", { method: "DELETE", key: api.addKey() });
    expect([fixed.status, fixed.headers.get("allow")]).toEqual([405, "PATCH, POST"]);
    expect(fixed.body).toMatchObject({
      error: {
        message:
          "This resource takes PATCH, POST; below it are POST /v1/links/bulk/check, POST /v1/links/bulk/delete.",
      },
    });
    for (const path of [
      "/v1/links/bulk",
      "/v1/links/lookup",
      "/v1/analytics/geo",
      "/v1/tags/merge",
    ]) {
      const { status } = await api.send(path, { method: "PUT", key: api.addKey() });
      expect([path, status]).toEqual([path, 405]);
    }
    expect(wrong.headers.get("allow")).toBe("GET, POST");
  });

  test("has an id: the client's own if it is safe", async () => {
    expect(await requestIdOf("abc-1.2")).toBe("abc-1.2");
    expect(await requestIdOf("<script>")).toMatch(/^[0-9a-f-]{36}$/);
    expect(await requestIdOf("x".repeat(129))).toMatch(/^[0-9a-f-]{36}$/);
  });

  test("without a key is rate-limited by its address, and no other address is", async () => {
    const statuses = new Set<number>();
    for (let i = 0; i < 100; i++) statuses.add((await sendFrom("203.0.113.7")).status);
    expect([...statuses]).toEqual([401, 429]);
    expect((await sendFrom("203.0.113.8")).status).toBe(401);
  });
});
