/** Goal: whatever colour an account chooses, text in it can be read on light and on dark pages. */
import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { CONTRAST_MIN, contrastOf, toBrandColors } from "./colors.ts";

/** The backgrounds of `base.css`. */
const LIGHT = ["#ffffff", "#f6f7fb", "#f1f3f9"];
const DARK = ["#151823", "#0d0f16", "#1d2130"];

const colors = fc
  .integer({ min: 0, max: 0xff_ff_ff })
  .map((value) => `#${value.toString(16).padStart(6, "0")}`);

test("contrast is that of WCAG 2.2", () => {
  expect(contrastOf("#000000", "#ffffff")).toBe(21);
  expect(contrastOf("#ffffff", "#000000")).toBe(21);
  expect(contrastOf("#777777", "#ffffff")).toBeCloseTo(4.48, 2);
});

describe("the colours of a brand", () => {
  test("are readable on every background of light and dark pages", () => {
    fc.assert(
      fc.property(colors, (color) => {
        const { light, dark } = toBrandColors(color);
        for (const background of LIGHT)
          expect(contrastOf(light, background)).toBeGreaterThanOrEqual(CONTRAST_MIN);
        for (const background of DARK)
          expect(contrastOf(dark, background)).toBeGreaterThanOrEqual(CONTRAST_MIN);
      }),
    );
  });

  test("stay as chosen where they are readable", () => {
    expect(toBrandColors("#1d4ed8").light).toBe("#1d4ed8");
    expect(toBrandColors("#fbbf24").dark).toBe("#fbbf24");
  });

  test("the backgrounds are those of the style sheet", async () => {
    const style = await Bun.file(`${import.meta.dir}/../statistics/base.css`).text();
    for (const name of ["bg", "surface", "raised"]) {
      const [, light = "", dark = ""] =
        new RegExp(`--${name}: light-dark\\((#\\w+), (#\\w+)\\)`).exec(style) ?? [];
      expect([LIGHT.includes(light), DARK.includes(dark)]).toEqual([true, true]);
    }
  });
});
