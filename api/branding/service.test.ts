/**
 * Goal: a stored logo is an image that we have drawn ourselves: small, without scripts, metadata or
 * anything else.
 */
import { describe, expect, test } from "bun:test";
import { crc32 } from "node:zlib";

import { LOGO } from "../../shared/contracts/examples.ts";
import { DEFAULT_QR_STYLE, type QrStyle } from "../../shared/contracts/qr-style.ts";
import { forFile } from "../../test/harness/for-file.ts";
import { createPng } from "../../test/harness/png.ts";
import { startPostgres } from "../../test/harness/postgres.ts";
import type { AccountScope } from "../http/principal.ts";
import { changeBranding, encodeLogo, findBranding, findQrBranding } from "./service.ts";

const SECRET = "a secret place";

const SVG = `<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><script>alert(1)</script></svg>`;

const GIF = Buffer.from("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7", "base64");

const problemOf = (bytes: Uint8Array): Promise<string> =>
  encodeLogo(bytes).then(
    () => "",
    (error: unknown) => String(error),
  );

/** A segment of a JPEG image. */
function segment(marker: number, ...parts: (Buffer | number[])[]): Buffer {
  const content = Buffer.concat(parts.map((part) => Buffer.from(part)));
  const head = Buffer.from([0xff, marker, 0, 0]);
  head.writeUInt16BE(content.length + 2, 2);
  return Buffer.concat([head, content]);
}

/** A grey progressive JPEG image of many scans, each of which says that no coefficient changes. */
function createProgressiveJpeg(width: number, height: number, scans: number): Buffer {
  const size = Buffer.alloc(4);
  size.writeUInt16BE(height, 0);
  size.writeUInt16BE(width, 2);
  const blocks = Math.ceil(width / 8) * Math.ceil(height / 8);
  // One code of one bit; the second one is followed by the 14 low bits of a number of blocks.
  const oneCode = [1, ...Array.from({ length: 15 }, () => 0)];
  const runs = "011111111111111".repeat(Math.ceil(blocks / 32_767));
  const bytes = runs.match(/.{1,8}/g) ?? [];
  const scan = bytes.map((bits) => Number.parseInt(bits.padEnd(8, "1"), 2));
  const stuffed = scan.flatMap((byte) => (byte === 0xff ? [byte, 0] : [byte]));
  return Buffer.concat([
    Buffer.from([0xff, 0xd8]),
    segment(
      0xdb,
      [0],
      Array.from({ length: 64 }, () => 1),
    ),
    segment(0xc2, [8], size, [1, 1, 0x11, 0]),
    segment(0xc4, [0x00, ...oneCode, 0], [0x10, ...oneCode, 0xe0]),
    segment(0xda, [1, 1, 0, 0, 0, 0]),
    Buffer.alloc(Math.ceil(blocks / 8)),
    ...Array.from({ length: scans - 1 }, () =>
      Buffer.concat([segment(0xda, [1, 1, 0, 1, 63, 0]), Buffer.from(stuffed)]),
    ),
    Buffer.from([0xff, 0xd9]),
  ]);
}

describe("a logo", () => {
  test.each([
    [createPng(960, 224), 480, 112],
    [createPng(100, 50), 100, 50],
    [createPng(2_000, 100), 480, 24],
    [Buffer.from(LOGO, "base64"), 1, 1],
  ])("is scaled into its box, and never enlarged (%#)", async (image, width, height) => {
    const encoded = await encodeLogo(image);
    expect(encoded.subarray(0, 4).toString() + encoded.subarray(8, 12).toString()).toBe("RIFFWEBP");
    expect(await new Bun.Image(encoded).metadata()).toEqual({ format: "webp", width, height });
    expect(encoded.length).toBeLessThanOrEqual(32 * 1024);
  });

  test.each(["jpeg", "webp"] as const)("may be a %s", async (format) => {
    const image = await new Bun.Image(createPng(40, 40))[format]().buffer();
    expect((await encodeLogo(image)).subarray(8, 12).toString()).toBe("WEBP");
  });

  test("keeps nothing of the file but its pixels", async () => {
    const image = createPng(40, 40, { comment: SECRET });
    expect(image.toString("latin1")).toContain(SECRET);
    const encoded = await encodeLogo(Buffer.concat([image, Buffer.from(SVG)]));
    expect(encoded.toString("latin1")).not.toContain(SECRET);
    expect(encoded.toString("latin1")).not.toContain("script");
  });

  test.each([
    ["an SVG image, which can contain scripts", Buffer.from(SVG)],
    ["a GIF image", GIF],
    ["HTML", Buffer.from("<!doctype html><script>alert(1)</script>")],
    ["a cut PNG", createPng(400, 400, { noise: true }).subarray(0, 2_000)],
    ["nothing", Buffer.alloc(1)],
  ])("is not %s", async (_, bytes) => {
    expect(await problemOf(bytes)).toContain("must be a PNG, JPEG or WebP image");
  });

  test("is no JPEG image of many scans, each of which is a pass over all pixels", async () => {
    const usual = createProgressiveJpeg(2_000, 2_000, 50);
    expect((await encodeLogo(usual)).subarray(8, 12).toString()).toBe("WEBP");
    const startedAt = process.cpuUsage();
    const costly = createProgressiveJpeg(2_000, 2_000, 30_000);
    expect([costly.length < 512 * 1024, await problemOf(costly)]).toEqual([
      true,
      expect.stringContaining("must have at most 100 scans"),
    ]);
    // Decoding them took ten seconds of a core.
    expect(process.cpuUsage(startedAt).user).toBeLessThan(1_000_000);
  });

  test("has a bounded number of pixels, also as its header says", async () => {
    expect(await problemOf(createPng(2_001, 2_000))).toContain("4,000,000 pixels");
    const bomb = createPng(1, 1);
    bomb.writeUInt32BE(60_000, 16);
    bomb.writeUInt32BE(60_000, 20);
    bomb.writeUInt32BE(crc32(bomb.subarray(12, 29)), 29);
    expect(await problemOf(bomb)).toContain("4,000,000 pixels");
  });
});

const postgres = await forFile(startPostgres());

const versionOf = async ({ accountId, mode }: AccountScope): Promise<number | undefined> => {
  const [row] = await postgres.sql<{ version: number }[]>`
    select version from account_branding where account_id = ${accountId} and mode = ${mode}`;
  return row?.version;
};

// Goal: branding belongs to one account and mode, and a change changes nothing else.
test("fields change one by one, null removes one, and every change is counted", async () => {
  const { sql } = postgres;
  const owner = await postgres.addWriter();
  expect(await findBranding(sql, owner)).toBeUndefined();
  const logo = Buffer.from([0, 1, 255]);
  const qrStyle: QrStyle = { ...DEFAULT_QR_STYLE, foreground: "#1d4ed8", shape: "dots" };
  await changeBranding(sql, owner, { name: "Acme", logo });
  expect(await findBranding(sql, owner)).toEqual({
    name: "Acme",
    color: null,
    logo,
    qrStyle: null,
  });
  await changeBranding(sql, owner, { color: "#1d4ed8", qrStyle });
  expect(await findBranding(sql, owner)).toEqual({
    name: "Acme",
    color: "#1d4ed8",
    logo,
    qrStyle,
  });
  const after = await changeBranding(sql, owner, { name: null, logo: null });
  expect(after).toEqual({ name: null, color: "#1d4ed8", logo: null, qrStyle });
  expect((await changeBranding(sql, owner, { qrStyle: null })).qrStyle).toBeNull();
  expect(await versionOf(owner)).toBe(4);
});

test("of a logo nothing is read for a QR code that has none", async () => {
  const { sql } = postgres;
  const owner = await postgres.addWriter();
  expect(await findQrBranding(sql, owner, true)).toBeUndefined();
  const logo = Buffer.from([0, 1, 255]);
  await changeBranding(sql, owner, { name: "Acme", logo });
  const find = async (wantsLogo: boolean | undefined) =>
    await findQrBranding(sql, owner, wantsLogo);
  expect(await find(undefined)).toEqual({ qrStyle: null, logo: null });
  expect(await find(true)).toEqual({ qrStyle: null, logo });
  for (const saved of [false, true]) {
    const qrStyle = { ...DEFAULT_QR_STYLE, logo: saved };
    await changeBranding(sql, owner, { qrStyle });
    expect(await find(undefined)).toEqual({ qrStyle, logo: saved ? logo : null });
    expect(await find(true)).toEqual({ qrStyle, logo });
    expect(await find(false)).toEqual({ qrStyle, logo: null });
  }
});

test("other accounts and the other mode are untouched", async () => {
  const { sql } = postgres;
  const [owner, other] = [await postgres.addWriter(), await postgres.addWriter()];
  await changeBranding(sql, other, { name: "Other" });
  await changeBranding(sql, owner, { name: "Acme" });
  expect(await findBranding(sql, { ...owner, mode: "test" })).toBeUndefined();
  expect(await findBranding(sql, other)).toMatchObject({ name: "Other" });
  expect(await versionOf(other)).toBe(1);
});
