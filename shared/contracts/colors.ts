/** Colours as `#rrggbb`. */
import * as z from "zod";

export const hexColor = z.string().regex(/^#[0-9a-fA-F]{6}$/, "must be a colour such as #1d4ed8");

/** Red, green and blue, from 0 to 255. */
export const channelsOf = (color: string): number[] =>
  [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16));

/** The relative luminance by WCAG 2.2, from 0 (black) to 1 (white). */
export function luminanceOf(color: string): number {
  const [red = 0, green = 0, blue = 0] = channelsOf(color).map((value) => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
