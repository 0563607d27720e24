/** Goal: owners change their branding, invalid requests change nothing, and others get nowhere. */
import { beforeEach, describe, expect, test } from "bun:test";

import { DEFAULT_QR_STYLE } from "../../shared/contracts/qr-style.ts";
import { createFakeApi, errorCodeOf, type FakeKey } from "../../test/harness/fake-api.ts";
import { type Branding, NO_BRANDING } from "./model.ts";

let key: FakeKey;
let changes: unknown[];
/** By account and mode. */
const brands = new Map<string, Branding>();

const api = createFakeApi({
  branding: {
    find: async ({ accountId, mode }) => brands.get(`${accountId} ${mode}`) ?? NO_BRANDING,
    change: async ({ accountId, mode }, body) => {
      changes.push(body);
      const brand = { ...NO_BRANDING, name: body.name ?? null, logo: Buffer.from("image") };
      brands.set(`${accountId} ${mode}`, brand);
      return brand;
    },
  },
});

beforeEach(() => {
  changes = [];
  key = api.addKey();
});

const NOTHING = { name: null, color: null, logo: null, qr_style: null };

describe("/v1/branding", () => {
  test("takes a part of a style of QR codes, and completes it", async () => {
    const body = { qr_style: { foreground: "#1D4ED8", shape: "dots" } };
    expect((await api.send("/v1/branding", { method: "PATCH", key, body })).status).toBe(200);
    expect(changes).toEqual([
      { qr_style: { ...DEFAULT_QR_STYLE, foreground: "#1d4ed8", shape: "dots" } },
    ]);
  });

  test("names the colour that contrasts too little", async () => {
    const body = { qr_style: { foreground: "#c4c4c4" } };
    const response = await api.send("/v1/branding", { method: "PATCH", key, body });
    expect(response.body).toMatchObject({ error: { param: "qr_style.foreground" } });
  });

  test("is empty at first, and then what the owner has set", async () => {
    const before = await api.send("/v1/branding", { key });
    expect([before.status, before.body]).toEqual([200, NOTHING]);
    const body = { name: "Acme" };
    const { status } = await api.send("/v1/branding", { method: "PATCH", key, body });
    expect(status).toBe(200);
    const after = await api.send("/v1/branding", { key });
    expect(after.body).toEqual({
      name: "Acme",
      color: null,
      logo: `data:image/webp;base64,${btoa("image")}`,
      qr_style: null,
    });
    const foreign = await api.send("/v1/branding", { key: api.addKey() });
    expect(foreign.body).toEqual(NOTHING);
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
    ["a style of QR codes by name", { qr_style: "dots" }],
    ["a style whose colours contrast too little", { qr_style: { foreground: "#c4c4c4" } }],
    ["a style of light on dark", { qr_style: { foreground: "#ffffff", background: "#000000" } }],
    ["a style with a colour by name", { qr_style: { background: "white" } }],
    ["a style with an unknown shape", { qr_style: { shape: "hearts" } }],
    ["a style with a margin of 17 modules", { qr_style: { margin: 17 } }],
    ["a style with an unknown field", { qr_style: { css: "body {}" } }],
    ["an unknown field", { css: "body {}" }],
  ])("rejects %s", async (_, body) => {
    const response = await api.send("/v1/branding", { method: "PATCH", key, body });
    expect([response.status, errorCodeOf(response)]).toEqual([400, "invalid_request"]);
    expect(changes).toEqual([]);
  });
});
