/**
 * Goal: `GET /v1/links/{id}/qr` draws what the request says, else what the account has saved, else
 * as ever.
 */
import { beforeEach, describe, expect, test } from "bun:test";

import QRCode from "qrcode";

import { DEFAULT_QR_STYLE } from "../../../shared/contracts/qr-style.ts";
import { encodeId, newUuid } from "../../../shared/ids.ts";
import { errorCodeOf, FakeApi, type FakeKey, SHORT_URL } from "../../../test/harness/fake-api.ts";
import { linkRow } from "../../../test/harness/link-row.ts";
import { createPng } from "../../../test/harness/png.ts";
import { readQr } from "../../../test/harness/qr-reader.ts";
import { type Branding, encodeLogo, NO_BRANDING } from "../../branding/service.ts";
import { notFound } from "../../http/errors.ts";

let key: FakeKey;
let branding: Branding;

const ID = newUuid();
const PATH = `/v1/links/${encodeId("link", ID)}/qr`;

const logo = await encodeLogo(createPng(112, 112));
const api = new FakeApi({
  links: {
    async get({ accountId, mode }, id) {
      if (id !== ID || accountId !== key.accountId) throw notFound("link");
      return linkRow({ id, account_id: accountId, mode, alias: "sale" });
    },
  },
  branding: {
    async findForQr(_, wantsLogo) {
      const { qrStyle, logo } = branding;
      // As the statement does.
      return { qrStyle, logo: (wantsLogo ?? qrStyle?.logo) === true ? logo : null };
    },
  },
});

beforeEach(() => {
  key = api.addKey();
  branding = NO_BRANDING;
});

const get = (query: string, by: FakeKey | undefined = key) =>
  api.send(`${PATH}?${query}`, by === undefined ? {} : { key: by });

const drawAsEver = (options: QRCode.QRCodeToStringOptions = {}) =>
  QRCode.toString(`${SHORT_URL}/sale?_qr`, {
    type: "svg",
    errorCorrectionLevel: "M",
    margin: 4,
    width: 256,
    ...options,
  });

describe("GET /v1/links/:id/qr", () => {
  test("draws black squares on white where nobody has said otherwise", async () => {
    const { status, headers, text } = await get("");
    expect([status, headers.get("content-type")]).toEqual([200, "image/svg+xml"]);
    expect(text).toBe(await drawAsEver());
  });

  test("keeps its earlier parameters", async () => {
    const { text } = await get("format=svg&size=300&error_correction=H&margin=0");
    expect(text).toBe(await drawAsEver({ errorCorrectionLevel: "H", margin: 0, width: 300 }));
  });

  test.each([
    ["svg", "image/svg+xml"],
    ["png", "image/png"],
    ["pdf", "application/pdf"],
  ])("draws %s", async (format, type) => {
    await using server = api.listen();
    const query = `format=${format}&shape=dots&eyes=circle&foreground=1d4ed8&background=%23FEF3C7`;
    const response = await fetch(`http://localhost:${server.port}${PATH}?${query}`, {
      headers: { authorization: `Bearer ${key.key}` },
    });
    expect([response.status, response.headers.get("content-type")]).toEqual([200, type]);
    expect(await readQr(type, new Uint8Array(await response.arrayBuffer()))).toBe(
      `${SHORT_URL}/sale?_qr`,
    );
  });

  test("follows the account's style, and what the request says instead", async () => {
    branding = {
      ...NO_BRANDING,
      qrStyle: { ...DEFAULT_QR_STYLE, foreground: "#1d4ed8", margin: 2 },
    };
    const saved = await drawAsEver({ margin: 2, color: { dark: "#1d4ed8", light: "#ffffff" } });
    expect((await get("")).text).toBe(saved);
    const { text } = await get("foreground=%23000000&margin=4");
    expect(text).toBe(await drawAsEver());
  });

  test("shows the account's logo if the request or the style says so", async () => {
    branding = { ...NO_BRANDING, logo };
    expect((await get("")).text).not.toContain("<image");
    expect((await get("logo=true")).text).toContain('href="data:image/png;base64,');
    branding = { ...branding, qrStyle: { ...DEFAULT_QR_STYLE, logo: true } };
    expect((await get("")).text).toContain("<image");
    expect((await get("logo=false")).text).toBe(await drawAsEver());
  });

  test("draws a saved style without its logo when that has been removed", async () => {
    branding = { ...NO_BRANDING, qrStyle: { ...DEFAULT_QR_STYLE, logo: true } };
    expect((await get("")).text).toBe(await drawAsEver());
  });

  test.each([
    ["size=100000", "size"],
    ["margin=17", "margin"],
    ["foreground=red", "foreground"],
    ["foreground=%2300000", "foreground"],
    ["background=%22/%3E%3Cscript%3E", "background"],
    ["shape=hearts", "shape"],
    ["eyes=none", "eyes"],
    ["format=gif", "format"],
    ["logo=1", "logo"],
    // The account has none.
    ["logo=true", "logo"],
    ["foreground=c4c4c4", "foreground"],
    ["background=808080", "background"],
    ["foreground=ffffff&background=000000", "foreground"],
  ])("rejects %s, and says that it is %s", async (query, param) => {
    const response = await get(query);
    expect([response.status, errorCodeOf(response)]).toEqual([400, "invalid_request"]);
    expect(response.body).toMatchObject({ error: { param } });
  });
});
