/** QR codes of short links. */
import QRCode from "qrcode";
import * as z from "zod";

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
    .meta({ description: "How much of the code may be covered: about 7, 15, 25 or 30 %." }),
  margin: z.coerce
    .number()
    .int()
    .min(0)
    .max(16)
    .default(4)
    .meta({ description: "Quiet zone in modules; the standard asks for 4." }),
});

type QrQuery = z.output<typeof qrQuery>;

/** Draws a QR code of `text`. */
export async function drawQr(
  text: string,
  { format, size, error_correction, margin }: QrQuery,
): Promise<{ type: string; image: string | Uint8Array<ArrayBuffer> }> {
  const options = { errorCorrectionLevel: error_correction, margin, width: size };
  if (format === "svg") {
    const image = await QRCode.toString(text, { ...options, type: "svg" });
    return { type: "image/svg+xml", image };
  }
  return { type: "image/png", image: new Uint8Array(await QRCode.toBuffer(text, options)) };
}
