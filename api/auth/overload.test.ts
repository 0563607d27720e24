/**
 * Goal: a process that is behind refuses expensive calls before they cost anything, and goes on
 * with all others.
 */
import { describe, expect, test } from "bun:test";

import { encodeId, newUuid } from "../../shared/ids.ts";
import { FakeApi } from "../../test/harness/fake-api.ts";
import { linkRow } from "../../test/harness/link-row.ts";
import { NO_BRANDING } from "../branding/service.ts";

const id = encodeId("link", newUuid());

const EXPENSIVE = [
  ["GET", "/v1/analytics"],
  ["GET", `/v1/analytics/${id}/geo`],
  ["GET", "/v1/clicks/export"],
  ["GET", `/v1/links/${id}/qr`],
  ["POST", "/v1/analytics/bulk"],
  ["POST", `/v1/links/${id}/explain`],
  ["POST", "/v1/links/bulk"],
  ["PATCH", "/v1/links/bulk"],
  ["POST", "/v1/links/bulk/delete"],
  ["POST", "/v1/tags/merge"],
] as const;

describe("while the process is behind", () => {
  let authorizations = 0;
  const api = new FakeApi(
    { links: { get: () => Promise.resolve(linkRow()) } },
    {
      isBehind: () => true,
      stores: {
        authorize: () => {
          authorizations++;
          return Promise.resolve([]);
        },
      },
    },
  );

  test.each(EXPENSIVE)(
    "%s %s gets 503 with Retry-After, and its key is not looked up",
    async (method, path) => {
      const response = await api.send(path, { method, key: api.addKey(), body: {} });
      expect(response).toMatchObject({ status: 503, body: { error: { code: "unavailable" } } });
      expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
      expect(response.headers.get("x-ratelimit-limit")).not.toBeNull();
      expect(authorizations).toBe(0);
    },
  );
});

test("a link is read while the process is behind", async () => {
  const api = new FakeApi(
    { links: { get: () => Promise.resolve(linkRow()) } },
    { isBehind: () => true },
  );
  expect((await api.send(`/v1/links/${id}`, { key: api.addKey() })).status).toBe(200);
});

test("an expensive call is served while the process is not behind", async () => {
  const api = new FakeApi({
    links: { get: () => Promise.resolve(linkRow()) },
    branding: { findForQr: () => Promise.resolve(NO_BRANDING) },
  });
  expect((await api.send(`/v1/links/${id}/qr`, { key: api.addKey() })).status).toBe(200);
});
