/** Goal: owners change their branding, invalid requests change nothing, and others get nowhere. */
import { beforeAll, beforeEach, describe, expect, test } from "bun:test";

import {
  createFakeApi,
  errorCodeOf,
  type FakeApi,
  type FakeKey,
} from "../../test/harness/fake-api.ts";
import { type Brand, NO_BRAND } from "./model.ts";

let api: FakeApi;
let key: FakeKey;
let changes: unknown[];
/** By account and mode. */
const brands = new Map<string, Brand>();

beforeAll(() => {
  api = createFakeApi({
    branding: {
      find: async ({ accountId, mode }) => brands.get(`${accountId} ${mode}`) ?? NO_BRAND,
      change: async ({ accountId, mode }, body) => {
        changes.push(body);
        const brand = { ...NO_BRAND, name: body.name ?? null, logo: Buffer.from("image") };
        brands.set(`${accountId} ${mode}`, brand);
        return brand;
      },
    },
  });
});

beforeEach(() => {
  changes = [];
  key = api.addKey();
});

describe("/v1/branding", () => {
  test("is empty at first, and then what the owner has set", async () => {
    const before = await api.send("/v1/branding", { key });
    expect([before.status, before.body]).toEqual([200, { name: null, color: null, logo: null }]);
    const body = { name: "Acme" };
    const { status } = await api.send("/v1/branding", { method: "PATCH", key, body });
    expect(status).toBe(200);
    const after = await api.send("/v1/branding", { key });
    expect(after.body).toEqual({
      name: "Acme",
      color: null,
      logo: `data:image/webp;base64,${btoa("image")}`,
    });
    const foreign = await api.send("/v1/branding", { key: api.addKey() });
    expect(foreign.body).toEqual({ name: null, color: null, logo: null });
    const testKey = api.addKey({ accountId: key.accountId, mode: "test" });
    expect((await api.send("/v1/branding", { key: testKey })).body).toMatchObject({ name: null });
  });

  test.each<[string, unknown]>([
    ["a colour by name", { color: "red" }],
    ["a colour that ends the style", { color: "#fff}</style>" }],
    ["a colour with an alpha channel", { color: "#11223344" }],
    ["an empty name", { name: "" }],
    ["a control character in the name", { name: "a\nb" }],
    ["a name of 101 characters", { name: "a".repeat(101) }],
    ["a logo by URL", { logo: "https://example.com/logo.png" }],
    ["a logo of more than 512 KiB", { logo: "A".repeat(699_056) }],
    ["an unknown field", { css: "body {}" }],
  ])("rejects %s", async (_, body) => {
    const response = await api.send("/v1/branding", { method: "PATCH", key, body });
    expect([response.status, errorCodeOf(response)]).toEqual([400, "invalid_request"]);
    expect(changes).toEqual([]);
  });

  test.each([
    ["GET", "shares:read"],
    ["PATCH", "shares:write"],
  ])("%s needs the scope %s, and a key", async (method, scope) => {
    const scopes = key.scopes.filter((each) => each !== scope);
    const body = method === "PATCH" ? { body: {} } : {};
    const without = await api.send("/v1/branding", {
      method,
      key: api.addKey({ scopes }),
      ...body,
    });
    expect([without.status, errorCodeOf(without)]).toEqual([403, "forbidden"]);
    expect((await api.send("/v1/branding", { method, ...body })).status).toBe(401);
    expect(changes).toEqual([]);
  });
});
