/**
 * Goal: codes of every style can be read, from every format, by libraries that did not draw them.
 */
import { describe, expect, test } from "bun:test";

import fc from "fast-check";
import QRCode from "qrcode";

import {
  DEFAULT_QR_STYLE,
  findContrastProblem,
  MARGIN_MAX,
  type QrStyle,
  symbolContrastOf,
} from "../../../shared/contracts/qr-style.ts";
import { newUuid } from "../../../shared/ids.ts";
import { createPng } from "../../../test/harness/png.ts";
import { longTest } from "../../../test/harness/property-runs.ts";
import { readQr, toBitmap } from "../../../test/harness/qr-reader.ts";
import { encodeLogo } from "../../branding/service.ts";
import { drawQr, type QrRequest } from "./draw.ts";

const PAYER = { accountId: newUuid(), plan: "enterprise" };

const TEXT = "https://sho.rt/summer-sale";

const SHAPES = ["square", "rounded", "dots"] as const;
const EYES = ["square", "rounded", "circle"] as const;
const FORMATS = ["svg", "png", "pdf"] as const;

/**
 * Pairs that contrast just enough: grey on white, black on grey, and colours that some scanners see
 * as similar greys.
 */
const LIMIT_COLORS = [
  ["#b2b2b2", "#ffffff"],
  ["#000000", "#c4c4c4"],
  ["#e60000", "#00ffb0"],
  ["#0000ff", "#00f000"],
] as const;

/** Logos by their shape: the bounds of what is covered differ. */
const SIZES = { square: [112, 112], wide: [480, 112], flat: [480, 8], tall: [8, 112] } as const;

const logos = new Map<string, Buffer>();
for (const [name, [width, height]] of Object.entries(SIZES))
  logos.set(name, await encodeLogo(createPng(width, height)));

const logoOf = (name: string | undefined) => (name === undefined ? undefined : logos.get(name));

const request = (change: Partial<QrRequest>): QrRequest => ({
  format: "png",
  size: 400,
  errorCorrection: "L",
  style: DEFAULT_QR_STYLE,
  logo: undefined,
  ...change,
});

const drawAndRead = async (text: string, change: Partial<QrRequest>) => {
  const { type, image } = await drawQr(PAYER, text, request(change));
  return await readQr(type, image);
};

describe.each(FORMATS)("an image in %s", (format) => {
  test.each(SHAPES)("of %s modules can be read with all eyes and logos", async (shape) => {
    for (const eyes of EYES)
      for (const name of [undefined, ...Object.keys(SIZES)]) {
        const logo = logoOf(name);
        const style: QrStyle = { ...DEFAULT_QR_STYLE, shape, eyes };
        expect([eyes, name, await drawAndRead(TEXT, { format, style, logo })]).toEqual([
          eyes,
          name,
          TEXT,
        ]);
      }
  });

  test.each(LIMIT_COLORS)(
    "can be read in %s on %s, which contrast just enough",
    async (foreground, background) => {
      for (const shape of SHAPES)
        for (const name of [undefined, "wide"]) {
          const style: QrStyle = { ...DEFAULT_QR_STYLE, shape, foreground, background };
          const read = await drawAndRead(TEXT, { format, style, logo: logoOf(name) });
          expect([shape, name, read]).toEqual([shape, name, TEXT]);
        }
    },
  );

  test("has the size and the colours that were asked for", async () => {
    const style: QrStyle = {
      ...DEFAULT_QR_STYLE,
      shape: "rounded",
      foreground: "#1d4ed8",
      background: "#fef3c7",
    };
    const { type, image } = await drawQr(PAYER, TEXT, request({ format, size: 333, style }));
    const { width, height, data } = await toBitmap(type, image);
    expect([width, height]).toEqual([333, 333]);
    const colorAt = (x: number, y: number) => [
      ...data.subarray((y * 333 + x) * 4, (y * 333 + x) * 4 + 3),
    ];
    expect(colorAt(2, 2)).toEqual([0xfe, 0xf3, 0xc7]);
    // The centre of the first finder pattern: 33 modules with the margin, the pattern's centre is
    // the eighth.
    const centre = Math.round((7.5 * 333) / 33);
    expect(colorAt(centre, centre)).toEqual([0x1d, 0x4e, 0xd8]);
  });

  test("shows the logo's own pixels in its centre", async () => {
    const logo = logoOf("square");
    const { type, image } = await drawQr(PAYER, TEXT, request({ format, size: 400, logo }));
    const { data } = await toBitmap(type, image);
    const [red = 0, green = 0, blue = 0] = data.subarray((200 * 400 + 200) * 4);
    for (const value of [red, green, blue]) expect(Math.abs(value - 0x80)).toBeLessThan(4);
  });
});

test("a PNG has one bit per pixel: with four bytes, the largest blocked the event loop for 0.8 s", async () => {
  const { image } = await drawQr(PAYER, TEXT, request({ size: 2_048 }));
  // PNG (ISO 15948), 11.2.2: bit depth and colour type of the header.
  const bytes = Buffer.from(image);
  expect([bytes[24], bytes[25]]).toEqual([1, 0]);
});

test("a PNG that has less pixels than modules gets four for each", async () => {
  const { type, image } = await drawQr(PAYER, TEXT, request({ size: 20 }));
  const { modules } = QRCode.create(TEXT, { errorCorrectionLevel: "L" });
  const { width, height } = await toBitmap(type, image);
  const edge = 4 * (modules.size + 2 * DEFAULT_QR_STYLE.margin);
  expect([width, height]).toEqual([edge, edge]);
});

const hex = fc
  .integer({ min: 0, max: 0xffffff })
  .map((value) => `#${value.toString(16).padStart(6, "0")}`);

const styles: fc.Arbitrary<QrStyle> = fc.record({
  foreground: hex,
  background: hex,
  shape: fc.constantFrom(...SHAPES),
  eyes: fc.constantFrom(...EYES),
  logo: fc.boolean(),
  margin: fc.integer({ min: 2, max: MARGIN_MAX }),
});

longTest(
  "any text in any style that is accepted can be read",
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.webUrl({ size: "small" }),
        styles.filter((style) => findContrastProblem(style) === undefined),
        fc.constantFrom(...FORMATS),
        fc.constantFrom(undefined, ...Object.keys(SIZES)),
        async (text, style, format, name) => {
          const read = await drawAndRead(text, { format, size: 600, style, logo: logoOf(name) });
          expect(read).toBe(text);
        },
      ),
      { numRuns: 60 },
    );
  },
  120_000,
);

test("colours that contrast too little, or the wrong way round, are a problem", () => {
  for (const [foreground, background] of LIMIT_COLORS) {
    expect(findContrastProblem({ foreground, background })).toBeUndefined();
    expect(findContrastProblem({ foreground: background, background: foreground })).toContain(
      "darker",
    );
  }
  expect(symbolContrastOf("#000000", "#ffffff")).toBe(1);
  expect(findContrastProblem({ foreground: "#c4c4c4", background: "#ffffff" })).toContain("more");
  expect(findContrastProblem({ foreground: "#808080", background: "#808080" })).toContain("more");
});
