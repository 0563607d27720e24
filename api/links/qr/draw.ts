/** Draws QR codes of short links. */
import QRCode from "qrcode";

import type { QrStyle } from "../../../shared/contracts/qr-style.ts";
import { drawInTurn, type Payer } from "../../limits/budgets.ts";
import { type ErrorCorrection, layOut, matrixOf } from "./layout.ts";
import { drawShapes, drawSquares, readPixels } from "./png.ts";
import { drawPdf, drawSvg } from "./vector.ts";

type QrImage = { type: string; image: string | Uint8Array<ArrayBuffer> };

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

async function drawPlainPng(
  text: string,
  { size, errorCorrection, style }: QrRequest,
): Promise<QrImage> {
  const modules = matrixOf(text, errorCorrection);
  const isWithin = (index: number) => index >= 0 && index < modules.size;
  const isDark = (column: number, row: number) => {
    const [x, y] = [column - style.margin, row - style.margin];
    return isWithin(x) && isWithin(y) && modules.get(y, x) === 1;
  };
  const cells = modules.size + 2 * style.margin;
  return { type: "image/png", image: await drawSquares(size, cells, isDark, style) };
}

async function drawStyled(
  text: string,
  { format, size, errorCorrection, style, logo }: QrRequest,
): Promise<QrImage> {
  const dimensions = logo && (await new Bun.Image(logo).metadata());
  const layout = layOut(text, errorCorrection, style, dimensions);
  if (format === "png")
    return { type: "image/png", image: await drawShapes(layout, size, style, logo) };
  // As PNG, which all programs that read SVG can show.
  const png = logo && (await new Bun.Image(logo).png().buffer());
  if (format === "svg") return { type: "image/svg+xml", image: drawSvg(layout, size, style, png) };
  const pixels = png && (await readPixels(png, style.background));
  return { type: "application/pdf", image: await drawPdf(layout, size, style, pixels) };
}
