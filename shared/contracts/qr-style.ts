/** How QR codes look, shared by the API and the dashboard's dialog. */
import * as z from "zod";

import { HEX_COLOR, luminanceOf } from "./colors.ts";

/** Maximum width of the quiet zone, in modules. */
export const MARGIN_MAX = 16;

/**
 * Minimum difference of the luminances of background and foreground: grade B of the symbol contrast
 * of ISO/IEC 15415, section 7.8.3. Scanners that expect dark modules on a light background read it
 * also in poor light.
 */
const SYMBOL_CONTRAST_MIN = 0.55;

export const hexColor = z.string().regex(HEX_COLOR, "must be a colour such as #1d4ed8");

const color = hexColor.toLowerCase();

/** The fields of a style; none has a default. */
export const qrStyleFields = {
  foreground: color.meta({ description: "Colour of the code.", examples: ["#1d4ed8"] }),
  background: color.meta({ description: "Colour behind the code.", examples: ["#ffffff"] }),
  shape: z.enum(["square", "rounded", "dots"]).meta({ description: "Shape of the modules." }),
  eyes: z
    .enum(["square", "rounded", "circle"])
    .meta({ description: "Shape of the three finder patterns." }),
  logo: z
    .boolean()
    .meta({ description: "Whether the account's logo is in the centre.", examples: [true] }),
  margin: z
    .number()
    .int()
    .min(0)
    .max(MARGIN_MAX)
    .meta({ description: "Quiet zone in modules; the standard requires 4.", examples: [4] }),
};

/** Black squares on white. */
export const DEFAULT_QR_STYLE = {
  foreground: "#000000",
  background: "#ffffff",
  shape: "square",
  eyes: "square",
  logo: false,
  margin: 4,
} as const satisfies QrStyle;

/** How much lighter the background is than the foreground, from -1 to 1. */
export const symbolContrastOf = (foreground: string, background: string): number =>
  luminanceOf(background) - luminanceOf(foreground);

/**
 * The problem with two colours, as an error of the foreground; undefined if scanners can read
 * them.
 */
export function findContrastProblem({
  foreground,
  background,
}: {
  foreground: string;
  background: string;
}): string | undefined {
  const contrast = symbolContrastOf(foreground, background);
  if (contrast >= SYMBOL_CONTRAST_MIN) return undefined;
  return contrast < 0
    ? "must be darker than the background: many scanners cannot read light codes on dark"
    : `must contrast more with the background: ${toPercent(contrast)} % of ${toPercent(SYMBOL_CONTRAST_MIN)} %`;
}

const toPercent = (share: number): number => Math.floor(share * 100);

/** A style as it is saved; fields that are left out have their defaults. */
export const qrStyle = z
  .strictObject({
    foreground: qrStyleFields.foreground.default(DEFAULT_QR_STYLE.foreground),
    background: qrStyleFields.background.default(DEFAULT_QR_STYLE.background),
    shape: qrStyleFields.shape.default(DEFAULT_QR_STYLE.shape),
    eyes: qrStyleFields.eyes.default(DEFAULT_QR_STYLE.eyes),
    logo: qrStyleFields.logo.default(DEFAULT_QR_STYLE.logo),
    margin: qrStyleFields.margin.default(DEFAULT_QR_STYLE.margin),
  })
  .check((context) => {
    const problem = findContrastProblem(context.value);
    if (problem === undefined) return;
    context.issues.push({
      code: "custom",
      path: ["foreground"],
      message: problem,
      input: context.value,
    });
  });

export type QrStyle = {
  foreground: string;
  background: string;
  shape: "square" | "rounded" | "dots";
  eyes: "square" | "rounded" | "circle";
  logo: boolean;
  margin: number;
};
