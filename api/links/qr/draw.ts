/** Draws QR codes of short links. */
import QRCode from "qrcode";

import type { QrStyle } from "../../../shared/contracts/qr-style.ts";
import type { Payer } from "../../limits/budgets.ts";
import { drawInTurn } from "../../limits/drawing.ts";
import { createMatrix, type ErrorCorrection, layOut } from "./layout.ts";
import { measureLogo, readPixels, toIndexedPng, toPng } from "./logo.ts";
import { drawPdf } from "./pdf.ts";
import { drawSquares } from "./png.ts";
import { createGrid, drawRaster, LOGO_COLORS_MAX, scaleLogo } from "./raster.ts";
import { drawSvg } from "./svg.ts";

/** Pixels per module when the requested size is smaller than one pixel per module. */
const FALLBACK_SCALE = 4;

export type QrImage = { type: string; image: string | Uint8Array<ArrayBuffer> };

export type QrRequest = {
  format: "svg" | "png" | "pdf";
  /** Width and height: pixels, or points of a PDF document. */
  size: number;
  /** A logo raises it to the highest. */
  errorCorrection: ErrorCorrection;
  style: Omit<QrStyle, "logo">;
  /** A WebP image. */
  logo: Uint8Array | undefined;
};

/**
 * Draws a QR code of `text`. One with shapes or a logo is drawn in the payer's turn: throws
 * `rate_limited`, and `QueueFull` when too many are being drawn.
 */
export async function drawQr(payer: Payer, text: string, request: QrRequest): Promise<QrImage> {
  const { format, logo, style } = request;
  const isPlain = style.shape === "square" && style.eyes === "square" && logo === undefined;
  if (isPlain && format === "svg") return await drawPlainSvg(text, request);
  if (isPlain && format === "png") return await drawPlainPng(text, request);
  return await drawInTurn(payer, () => drawStyled(text, request));
}

async function drawPlainSvg(
  text: string,
  { size, errorCorrection, style }: QrRequest,
): Promise<QrImage> {
  const image = await QRCode.toString(text, {
    type: "svg",
    errorCorrectionLevel: errorCorrection,
    margin: style.margin,
    width: size,
    color: { dark: style.foreground, light: style.background },
  });
  return { type: "image/svg+xml", image };
}

/**
 * Not by the library's encoder, which writes four bytes per pixel and blocked the event loop for
 * 0.8 s at the largest size.
 */
async function drawPlainPng(
  text: string,
  { size, errorCorrection, style }: QrRequest,
): Promise<QrImage> {
  const modules = createMatrix(text, errorCorrection);
  const cells = modules.size + 2 * style.margin;
  const isWithin = (index: number) => index >= 0 && index < modules.size;
  const isDark = (row: number, column: number) => {
    const [y, x] = [row - style.margin, column - style.margin];
    return isWithin(y) && isWithin(x) && modules.get(y, x) === 1;
  };
  const image = await drawSquares(chooseEdge(size, cells), cells, isDark, style);
  return { type: "image/png", image };
}

const chooseEdge = (size: number, cells: number): number =>
  size >= cells ? size : cells * FALLBACK_SCALE;

async function drawStyled(
  text: string,
  { format, size, errorCorrection, style, logo }: QrRequest,
): Promise<QrImage> {
  const dimensions = logo === undefined ? undefined : await measureLogo(logo);
  const layout = layOut(text, errorCorrection, style, dimensions);
  if (format === "svg") {
    const png = logo === undefined ? undefined : await toPng(logo);
    return { type: "image/svg+xml", image: drawSvg(layout, size, style, png) };
  }
  if (format === "pdf") {
    const pixels =
      logo === undefined ? undefined : await readPixels(await toPng(logo), style.background);
    return { type: "application/pdf", image: await drawPdf(layout, size, style, pixels) };
  }
  const grid = createGrid(chooseEdge(size, layout.cells), layout.cells);
  const pixels =
    logo === undefined || layout.logo === undefined
      ? undefined
      : await readPixels(
          await toIndexedPng(logo, scaleLogo(layout.logo, grid), LOGO_COLORS_MAX),
          style.background,
        );
  return { type: "image/png", image: await drawRaster(layout, grid, style, pixels) };
}
