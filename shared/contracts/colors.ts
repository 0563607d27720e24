/**
 * Colours as `#rrggbb`, and the colours of a page that has a brand. Imports nothing, because the
 * first page of the dashboard loads them.
 */

export const HEX_COLOR = /^#[0-9a-fA-F]{6}$/;

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

/** The darkest light background and the lightest dark one (`base.css`): others contrast more. */
const LIGHT_BACKGROUND = "#f1f3f9";
const DARK_BACKGROUND = "#1d2130";

/** Minimum contrast of text with its background (WCAG 2.2, 1.4.3). */
export const CONTRAST_MIN = 4.5;

/** Parts in which a colour is mixed with black or white. */
const STEPS = 100;

/** The colour for light and for dark pages, as `#rrggbb`. */
export type BrandColors = { light: string; dark: string };

/** Darkens and lightens a colour (`#rrggbb`) as little as text in it needs to be readable. */
export const toBrandColors = (color: string): BrandColors => ({
  light: mixUntilReadable(color, "#000000", LIGHT_BACKGROUND),
  dark: mixUntilReadable(color, "#ffffff", DARK_BACKGROUND),
});

/** The contrast of two colours by WCAG 2.2: from 1 to 21. */
export function contrastOf(a: string, b: string): number {
  const [lighter = 0, darker = 0] = [luminanceOf(a), luminanceOf(b)].toSorted((x, y) => y - x);
  return (lighter + 0.05) / (darker + 0.05);
}

function mixUntilReadable(color: string, other: string, background: string): string {
  for (let step = 0; step < STEPS; step++) {
    const mixed = mix(color, other, step / STEPS);
    if (contrastOf(mixed, background) >= CONTRAST_MIN) return mixed;
  }
  return other;
}

function mix(a: string, b: string, share: number): string {
  const others = channelsOf(b);
  const mixed = channelsOf(a).map((value, i) =>
    Math.round(value + ((others[i] ?? value) - value) * share),
  );
  return `#${mixed.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}
