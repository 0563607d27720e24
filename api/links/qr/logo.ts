/** The account's logo within a QR code. */
import { PNG } from "pngjs";

import { channelsOf } from "../../../shared/contracts/colors.ts";
import { beginTurn } from "../../../shared/turns.ts";
import type { Dimensions } from "./layout.ts";

/** An opaque image, three bytes per pixel. */
export type Pixels = Dimensions & { rgb: Uint8Array };

/** The dimensions of a stored logo, in pixels. */
export async function measureLogo(logo: Uint8Array): Promise<Dimensions> {
  const { width, height } = await new Bun.Image(logo).metadata();
  return { width, height };
}

/**
 * A stored logo as PNG, which all programs that read SVG can show. Decodes and encodes on a
 * separate thread.
 */
export const toPng = (logo: Uint8Array): Promise<Buffer> => new Bun.Image(logo).png().buffer();

/** A stored logo in other dimensions, with at most `colors` colours. */
export const toIndexedPng = (
  logo: Uint8Array,
  { width, height }: Dimensions,
  colors: number,
): Promise<Buffer> =>
  new Bun.Image(logo).resize(width, height).png({ palette: true, colors }).buffer();

/** The pixels of a PNG image on a background; reads them in turns of the event loop. */
export async function readPixels(png: Buffer, background: string): Promise<Pixels> {
  const { width, height, data } = PNG.sync.read(png);
  const behind = channelsOf(background);
  const rgb = new Uint8Array(width * height * 3);
  const turn = beginTurn();
  for (let pixel = 0; pixel < width * height; pixel++) {
    if (pixel % width === 0 && turn.isOver()) await turn.next();
    const alpha = (data[pixel * 4 + 3] ?? 0) / 255;
    for (let channel = 0; channel < 3; channel++) {
      const value = data[pixel * 4 + channel] ?? 0;
      rgb[pixel * 3 + channel] = Math.round(value * alpha + (behind[channel] ?? 0) * (1 - alpha));
    }
  }
  await turn.next();
  return { width, height, rgb };
}
