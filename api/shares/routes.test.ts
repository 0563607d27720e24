/** Goal: owners manage their shares, invalid requests change nothing, and others get nowhere. */
import { beforeEach, describe, expect, test } from "bun:test";

import { encodeId, newUuid } from "../../shared/ids.ts";
import { createFakeApi, errorCodeOf, type FakeKey } from "../../test/harness/fake-api.ts";
import { notFound } from "../http/errors.ts";
import type { ShareRow } from "./model.ts";

let key: FakeKey;
let owner: string;
let changes: unknown[];

const row: ShareRow = {
  id: newUuid(),
  link_id: newUuid(),
  name: "Campaign",
  password_hash: "$argon2id$secret",
  breakdowns: ["country"],
  timezone: "UTC",
  embed_origins: ["https://www.example.com"],
  expires_at: null,
  created_at: new Date(0),
  updated_at: new Date(0),
};
const path = `/v1/shares/${encodeId("shr", row.id)}`;

function find({ accountId }: { accountId: string }): ShareRow {
  if (accountId !== owner) throw notFound("share");
  return row;
}

const api = createFakeApi({
  shares: {
    create: async (_, id, body) => {
      changes.push(body);
      return { row: { ...row, id }, token: "t".repeat(43) };
    },
    get: async (scope) => find(scope),
    update: async (scope, _, body) => {
      const found = find(scope);
      changes.push(body);
      return found;
    },
    rotate: async (scope) => {
      find(scope);
      changes.push("rotated");
      return { row, token: "another" };
    },
    revoke: async (scope) => {
      find(scope);
      changes.push("revoked");
    },
    list: async () => ({ rows: [row], total: 1, next: null }),
  },
});
beforeEach(() => {
  changes = [];
  key = api.addKey();
  owner = key.accountId;
});

describe("POST /v1/shares", () => {
  test("returns the URL, on the host that the client used, and no hash of the password", async () => {
    const { status, headers, body, text } = await api.send("/v1/shares", {
      key,
      body: { password: "correct horse" },
    });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      url: `https://api.test/shared/${"t".repeat(43)}`,
      has_password: true,
    });
    expect(headers.get("location")).toMatch(/^\/v1\/shares\/shr_/);
    expect(text).not.toContain("argon2id");
  });

  test.each<[string, unknown]>([
    ["an unknown dimension", { breakdowns: ["visitor"] }],
    ["a dimension twice", { breakdowns: ["country", "country"] }],
    [
      "too many dimensions",
      {
        breakdowns: [
          "country",
          "region",
          "city",
          "continent",
          "device",
          "browser",
          "os",
          "referrer",
          "host",
        ],
      },
    ],
    ["a short password", { password: "short" }],
    ["an origin with a path", { embed_origins: ["https://example.com/page"] }],
    ["an origin that ends the policy", { embed_origins: ["https://a;script-src *"] }],
    ["an origin of another scheme", { embed_origins: ["javascript:alert(1)"] }],
    ["all origins", { embed_origins: ["*"] }],
    ["a control character in the name", { name: "a\nb" }],
    ["an unknown field", { token: "mine" }],
  ])("rejects %s", async (_, body) => {
    const response = await api.send("/v1/shares", { key, body });
    expect([response.status, errorCodeOf(response)]).toEqual([400, "invalid_request"]);
    expect(changes).toEqual([]);
  });
});

describe("POST /v1/shares/:id/rotate", () => {
  test("returns another URL, to the owner alone", async () => {
    const { status, body } = await api.send(`${path}/rotate`, { method: "POST", key });
    expect([status, body]).toMatchObject([
      200,
      { token: "another", url: expect.stringMatching(/\/shared\/another$/) },
    ]);
    const options = { method: "POST", key: api.addKey() };
    expect((await api.send(`${path}/rotate`, options)).status).toBe(404);
    expect(changes).toEqual(["rotated"]);
  });
});

describe("the other endpoints of shares", () => {
  test("a list and a share never contain the URL", async () => {
    for (const route of ["/v1/shares", path]) {
      const { status, text } = await api.send(route, { key });
      expect(status).toBe(200);
      expect(text).not.toMatch(/token|url|argon2id/);
    }
  });
});

describe("what needs no key", () => {
  test.each(["GET", "POST"])(
    "%s of a page that is no share's says so, without a secret",
    async (method) => {
      const without = createFakeApi({
        shared: {
          find: async () => {
            throw notFound("share");
          },
        },
      });
      const { status, headers, text } = await without.send("/shared/none", { method });
      expect(status).toBe(404);
      expect(headers.get("content-type")).toBe("text/html; charset=utf-8");
      expect(headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
      expect(text).toContain("There are no statistics at this address.");
    },
  );

  test("rejects a filter, a moment, an unknown time zone, and a form that is too long", async () => {
    for (const query of ["country=DE", "start_date=2026-11-01T10:00:00Z", "timezone=Nowhere"]) {
      const filtered = await api.send(`/v1/shared/token?${query}`);
      expect([filtered.status, errorCodeOf(filtered)]).toEqual([400, "invalid_request"]);
    }
    const long = await api.send("/shared/token", { body: "x".repeat(2_049) });
    expect([long.status, errorCodeOf(long)]).toEqual([413, "payload_too_large"]);
  });

  test("is limited by address", async () => {
    const limited = createFakeApi({ shared: { read: () => Promise.reject(notFound("share")) } });
    const statuses = new Set<number>();
    for (let i = 0; i < 61; i++) statuses.add((await limited.send("/v1/shared/token")).status);
    expect([...statuses]).toEqual([404, 429]);
  });
});
