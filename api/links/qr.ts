/** Draws QR codes of short links. */
import QRCode from "qrcode";
import * as z from "zod";

import { drawPng } from "./png.ts";

/** Pixels per module when the requested size is smaller than one pixel per module. */
const FALLBACK_SCALE = 4;

export const qrQuery = z.object({
  format: z.enum(["svg", "png"]).default("svg"),
  size: z.coerce
    .number()
    .int()
    .min(64)
    .max(2_048)
    .default(256)
    .meta({ description: "Width and height in pixels." }),
  error_correction: z
    .enum(["L", "M", "Q", "H"])
    .default("M")
    .meta({ description: "Share of the code that may be covered: about 7, 15, 25 or 30 %." }),
  margin: z.coerce
    .number()
    .int()
    .min(0)
    .max(16)
    .default(4)
    .meta({ description: "Quiet zone in modules; the standard requires 4." }),
});

type QrQuery = z.output<typeof qrQuery>;

/**
 * Draws a QR code of `text`. PNG images do not use the library's encoder: it writes four bytes per pixel and
 * blocked the event loop for 0.8 s at the largest size.
 */
export async function drawQr(
  text: string,
  { format, size, error_correction, margin }: QrQuery,
): Promise<{ type: string; image: string | Uint8Array<ArrayBuffer> }> {
  if (format === "svg") {
    const options = { errorCorrectionLevel: error_correction, margin, width: size };
    const image = await QRCode.toString(text, { ...options, type: "svg" });
    return { type: "image/svg+xml", image };
  }
  const { modules } = QRCode.create(text, { errorCorrectionLevel: error_correction });
  const cells = modules.size + 2 * margin;
  const edge = size >= cells ? size : cells * FALLBACK_SCALE;
  const isWithin = (index: number) => index >= 0 && index < modules.size;
  const image = await drawPng(edge, cells, (row, column) => {
    const [y, x] = [row - margin, column - margin];
    return isWithin(y) && isWithin(x) && modules.get(y, x) === 1;
  });
  return { type: "image/png", image };
}
