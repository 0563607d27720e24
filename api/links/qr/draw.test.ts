import { expect, test } from "bun:test";
import { inflateSync } from "node:zlib";

import QRCode from "qrcode";

import { newUuid } from "../../../shared/ids.ts";
import { drawQr } from "./draw.ts";
import { qrQuery, toQrRequest } from "./routes.ts";

const PAYER = { accountId: newUuid(), plan: "enterprise" };

const TEXT = "https://sho.rt/summer-sale";

/** A request of an account that has chosen nothing. */
const requestOf = (query: Parameters<typeof qrQuery.parse>[0]) =>
  toQrRequest(qrQuery.parse(query), { qrStyle: null, logo: null });

/**
 * Decodes an image with one bit per pixel and one data chunk; `isDark` returns a pixel's colour.
 */
function readPng(bytes: Uint8Array): { edge: number; isDark: (x: number, y: number) => boolean } {
  const png = Buffer.from(bytes);
  expect(png.subarray(1, 4).toString()).toBe("PNG");
  const edge = png.readUInt32BE(16);
  expect(png.readUInt32BE(20)).toBe(edge);
  const offset = png.indexOf("IDAT");
  const length = png.readUInt32BE(offset - 4);
  const data = inflateSync(png.subarray(offset + 4, offset + 4 + length));
  const rowLength = 1 + Math.ceil(edge / 8);
  expect(data.length).toBe(rowLength * edge);
  return {
    edge,
    isDark: (x, y) => ((data[y * rowLength + 1 + (x >> 3)] ?? 0) & (0x80 >> (x & 7))) === 0,
  };
}

test.each([
  [64, 4],
  [300, 0],
  [512, 4],
  [2_048, 16],
])(
  "a PNG of %i pixels with a margin of %i shows every module of the code",
  async (size, margin) => {
    const request = requestOf({ format: "png", size, margin, error_correction: "H" });
    const { type, image } = await drawQr(PAYER, TEXT, request);
    expect(type).toBe("image/png");
    if (typeof image === "string") throw new Error("The image is text.");
    const { edge, isDark } = readPng(image);
    const { modules } = QRCode.create(TEXT, { errorCorrectionLevel: "H" });
    const cells = modules.size + 2 * margin;
    expect(edge).toBe(size >= cells ? size : cells * 4);
    /** The first pixel of a row or column of modules. */
    const pixelOf = (cell: number) => Math.ceil((cell * edge) / cells);
    for (let row = 0; row < cells; row++) {
      for (let column = 0; column < cells; column++) {
        const [y, x] = [row - margin, column - margin];
        const inside = Math.min(x, y) >= 0 && Math.max(x, y) < modules.size;
        const dark = inside && modules.get(y, x) === 1;
        expect([row, column, isDark(pixelOf(column), pixelOf(row))]).toEqual([row, column, dark]);
      }
    }
  },
);

test("an image has one bit per pixel: with four bytes, the largest blocked the event loop for 0.8 s", async () => {
  const { image } = await drawQr(PAYER, TEXT, requestOf({ format: "png", size: 2_048 }));
  // PNG (ISO 15948), 11.2.2: bit depth and colour type of the header.
  const bytes = Buffer.from(image);
  expect([bytes[24], bytes[25]]).toEqual([1, 0]);
});
