/** Goal: owners change their branding, invalid requests change nothing, and others get nowhere. */
import { describe, expect, test } from "bun:test";

import { DEFAULT_QR_STYLE } from "../../shared/contracts/qr-style.ts";
import { createAccount, createKey, UNLIMITED } from "../../test/harness/admin.ts";
import { ApiInProcess } from "../../test/harness/api-in-process.ts";
import { codeOf, errorSchema } from "../../test/harness/api.ts";
import { forFile } from "../../test/harness/for-file.ts";
import { createPng } from "../../test/harness/png.ts";

const api = await forFile(ApiInProcess.start());
const account = await createAccount(api, "enterprise", UNLIMITED);

const read = async (key = account.key) => (await api.send("/v1/branding", { key })).body;
const change = (body: unknown, key = account.key) =>
  api.send("/v1/branding", { method: "PATCH", key, body });

const NOTHING = { name: null, color: null, logo: null, qr_style: null };

describe("/v1/branding", () => {
  test("is empty at first, and then what the owner has set, in this mode alone", async () => {
    const { id, key } = await createAccount(api, "enterprise", UNLIMITED);
    expect(await read(key)).toEqual(NOTHING);
    const logo = createPng(16, 16).toString("base64");
    expect((await change({ name: "Acme", logo }, key)).status).toBe(200);
    const { key: testKey } = await createKey(api, id, "shares:read", { type: "test" });
    expect(await read(key)).toEqual({
      ...NOTHING,
      name: "Acme",
      logo: expect.stringMatching(/^data:image\/webp;base64,/),
    });
    expect(await read(testKey)).toEqual(NOTHING);
    expect(await read((await createAccount(api, "enterprise")).key)).toEqual(NOTHING);
  });

  test("takes a part of a style of QR codes, and completes it", async () => {
    const { body } = await change({ qr_style: { foreground: "#1D4ED8", shape: "dots" } });
    const qr_style = { ...DEFAULT_QR_STYLE, foreground: "#1d4ed8", shape: "dots" };
    expect(body).toMatchObject({ qr_style });
  });

  test("names the colour that contrasts too little", async () => {
    const { body } = await change({ qr_style: { foreground: "#c4c4c4" } });
    expect(errorSchema.parse(body).error.param).toBe("qr_style.foreground");
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
    const before = await read();
    expect(codeOf(await change(body))).toEqual([400, "invalid_request"]);
    expect(await read()).toEqual(before);
  });
});
