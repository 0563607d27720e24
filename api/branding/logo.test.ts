/**
 * Goal: a stored logo is an image that we have drawn ourselves: small, without scripts, metadata or
 * anything else.
 */
import { describe, expect, test } from "bun:test";
import { crc32 } from "node:zlib";

import { LOGO } from "../../shared/contracts/examples.ts";
import { createPng } from "../../test/harness/png.ts";
import { encodeLogo } from "./logo.ts";

const SECRET = "a secret place";

const SVG = `<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><script>alert(1)</script></svg>`;

const GIF = Buffer.from("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7", "base64");

const problemOf = (bytes: Uint8Array): Promise<string> =>
  encodeLogo(bytes).then(
    () => "",
    (error: unknown) => String(error),
  );

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

  test("has a bounded number of pixels, also as its header says", async () => {
    expect(await problemOf(createPng(2_001, 2_000))).toContain("4,000,000 pixels");
    const bomb = createPng(1, 1);
    bomb.writeUInt32BE(60_000, 16);
    bomb.writeUInt32BE(60_000, 20);
    bomb.writeUInt32BE(crc32(bomb.subarray(12, 29)), 29);
    expect(await problemOf(bomb)).toContain("4,000,000 pixels");
  });
});
