/** Goal: to serve other APIs changes nothing else, and opens no way around the limits of `/v1`. */
import { expect, test } from "bun:test";

import { errorCodeOf, FakeApi } from "../../test/harness/fake-api.ts";
import { linkRow } from "../../test/harness/link-row.ts";
import { generateKey } from "../auth/api-key.ts";

const ANONYMOUS_PER_MINUTE = 60;

/** A request of each API that it refuses itself, before any call of `/v1`. */
const REFUSED = ["/yourls-api.php?format=json&action=none", "/v4/none", "/rest/v3/none"];

const compat = ["yourls", "bitly", "shlink"] as const;

test("by default no other API is served", async () => {
  const api = new FakeApi();
  for (const path of REFUSED) {
    const response = await api.send(path);
    expect([response.status, errorCodeOf(response)]).toEqual([404, "not_found"]);
  }
});

test.each(REFUSED)("requests that are refused count for their address: %s", async (path) => {
  const api = new FakeApi({}, { compat });
  const send = (address: string) => api.send(path, { headers: { "x-forwarded-for": address } });
  for (let i = 0; i < ANONYMOUS_PER_MINUTE; i++)
    expect((await send("198.51.100.1")).status).toBe(401);
  const limited = await send("198.51.100.1");
  expect(limited.status).toBe(429);
  expect(Number(limited.headers.get("retry-after"))).toBeGreaterThan(0);
  expect((await send("198.51.100.2")).status).toBe(401);
});

/** Requests of each method that has a body, of JSON. */
const WITH_BODY = [
  ["POST", "/v4/shorten"],
  ["POST", "/v4/bitlinks"],
  ["PATCH", "/v4/bitlinks/bit.ly/known"],
  ["POST", "/v4/expand"],
  ["POST", "/rest/v3/short-urls"],
  ["PATCH", "/rest/v3/short-urls/known"],
  ["POST", "/rest/v3/short-urls/known/redirect-rules"],
  ["PUT", "/rest/v3/tags"],
  ["PATCH", "/rest/v3/domains/redirects"],
] as const;

test.each(WITH_BODY)("no body is read without a key that works: %s %s", async (method, path) => {
  const api = new FakeApi({}, { compat });
  const status = async (key: string) => {
    const headers = { "x-api-key": key, "x-forwarded-for": key.slice(-6) };
    return (await api.send(path, { method, key, headers, body: "not JSON" })).status;
  };
  // Its checksum is right, which anyone can compute.
  expect(await status(generateKey("live").key)).toBe(401);
  expect(await status(api.addKey({ state: "revoked" }).key)).toBe(403);
  expect(await status(api.addKey().key)).toBe(400);
});

test.each([
  ["of one name", "a&".repeat(30_000), 400],
  ["of many names", Array.from({ length: 5_000 }, (_, i) => `${i}=`).join("&"), 400],
  ["within the bound", "a=1&".repeat(199), 401],
])("a form of too many fields is not parsed: %s", async (_, body, expected) => {
  const api = new FakeApi({}, { compat });
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const { status, text } = await api.send("/yourls-api.php", { headers, body });
  expect([status, text.includes("too many fields")]).toEqual([expected, expected === 400]);
});

test("what a key may not do by /v1, and what fails there, is refused in the other shape", async () => {
  const api = new FakeApi(
    { links: { lookUp: () => Promise.reject(new Error("a secret of the database")) } },
    { compat },
  );
  const barred = api.addKey({ scopes: [] });
  const path = "/v4/bitlinks/bit.ly/known";
  expect(await api.send(path, { key: barred })).toMatchObject({
    status: 403,
    body: { message: "FORBIDDEN" },
  });
  const failed = await api.send(path, { key: api.addKey() });
  expect(failed).toMatchObject({ status: 500, body: { message: "INTERNAL" } });
  expect(failed.text).not.toContain("secret");
});

test("all calls of a request have its id, and a stopping process says so", async () => {
  const api = new FakeApi(
    { links: { lookUp: () => Promise.resolve(linkRow()) } },
    { compat, isStopping: () => true },
  );
  const response = await api.send("/v4/bitlinks/bit.ly/known", {
    key: api.addKey(),
    headers: { "x-request-id": "of-the-client" },
  });
  expect(response.status).toBe(200);
  expect(response.headers.get("x-request-id")).toBe("of-the-client");
  expect(response.headers.get("connection")).toBe("close");
  expect(response.headers.get("cache-control")).toBe("no-store");
  expect(response.headers.get("etag")).toBeNull();
});
