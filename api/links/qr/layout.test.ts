import { expect, test } from "bun:test";

import fc from "fast-check";

import { DEFAULT_QR_STYLE } from "../../../shared/contracts/qr-style.ts";
import { layOut } from "./layout.ts";

test("a logo of any shape covers a sixteenth of the modules at most, and reaches no finder pattern", () => {
  const pixels = fc.integer({ min: 1, max: 512 });
  fc.assert(
    fc.property(
      fc.string({ minLength: 1, maxLength: 300 }),
      pixels,
      pixels,
      (text, width, height) => {
        const { cells, logo } = layOut(
          text,
          "M",
          { ...DEFAULT_QR_STYLE, margin: 0 },
          { width, height },
        );
        expect((logo?.width ?? 0) * (logo?.height ?? 0)).toBeLessThanOrEqual(cells ** 2 / 16);
        expect(Math.min(logo?.x ?? 0, logo?.y ?? 0)).toBeGreaterThanOrEqual(7);
      },
    ),
  );
});
