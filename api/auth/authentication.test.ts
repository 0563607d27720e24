/**
 * Goal: every route authenticates and authorizes a request before it looks at anything else of it.
 */
import { describe, expect, test } from "bun:test";

import { createFakeApi, errorCodeOf } from "../../test/harness/fake-api.ts";

const api = createFakeApi({ links: { list: async () => ({ rows: [], total: 0, next: null }) } });

const requestIdOf = async (sent: string) =>
  (await api.send("/v1/links", { headers: { "x-request-id": sent } })).headers.get("x-request-id");

const sendFrom = (address: string) =>
  api.send("/v1/links", { headers: { "x-forwarded-for": address } });

describe("a key", () => {
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
