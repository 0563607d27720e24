/** Where the parts of a QR code are, in modules: what SVG, PNG and PDF images have in common. */
import QRCode from "qrcode";

import type { QrStyle } from "../../../shared/contracts/qr-style.ts";

export type Area = { x: number; y: number; width: number; height: number };

/** A rectangle whose corners are rounded by `radii`. */
export type Box = Area & {
  /** Of the upper left corner, and on clockwise. */
  radii: readonly [number, number, number, number];
  /** A hole shows the background again. */
  isHole: boolean;
};

export type Layout = {
  /** Width of the code with its margin. */
  cells: number;
  /** Boxes overlap only where a hole is in one, and a box in that hole. */
  boxes: Box[];
  /** Where the logo is. */
  logo: Area | undefined;
};

export type ErrorCorrection = "L" | "M" | "Q" | "H";

/** Width and height of an image, in pixels. */
export type Dimensions = { width: number; height: number };

/** Width of a finder pattern, its hole and its centre (ISO/IEC 18004, 6.3.3). */
const EYE = { outer: 7, hole: 5, centre: 3 };

/** How round a finder pattern is: its radius as a share of its width. */
const EYE_ROUNDNESS: Readonly<Record<QrStyle["eyes"], number>> = {
  square: 0,
  rounded: 0.25,
  circle: 0.5,
};

/**
 * Maximum share of the modules that a logo covers. Level H corrects 30 % of the codewords; those
 * that the edges of the logo cut count as a whole, and some must be left for dirt and bad light.
 */
const LOGO_AREA_SHARE = 1 / 16;

/**
 * Maximum width and height of what a logo covers, as a share of the code's: beside it are the
 * finder patterns.
 */
const LOGO_EDGE_SHARE = 0.4;

/** A logo covers at least so many rows and columns. */
const LOGO_EDGE_MIN = 3;

/** Background around a logo, in modules. */
const LOGO_PADDING = 0.5;

/** A code of `text`, as a square matrix. */
export const matrixOf = (text: string, level: ErrorCorrection) =>
  QRCode.create(text, { errorCorrectionLevel: level }).modules;

/**
 * Lays out a code of `text` with the shapes of a style. With a logo of the given dimensions, the
 * code has the highest error correction, and its centre is free for the logo.
 */
export function layOut(
  text: string,
  level: ErrorCorrection,
  { shape, eyes, margin }: Omit<QrStyle, "logo">,
  logo: Dimensions | undefined,
): Layout {
  const modules = matrixOf(text, logo === undefined ? level : "H");
  const { size } = modules;
  const covered = logo === undefined ? undefined : coverCentre(size, logo);
  const isDark = (x: number, y: number) =>
    Math.min(x, y) >= 0 &&
    Math.max(x, y) < size &&
    modules.get(y, x) === 1 &&
    !isInEye(x, y, size) &&
    !(covered !== undefined && isInArea(x, y, covered));
  const place = (box: Box): Box => ({ ...box, x: box.x + margin, y: box.y + margin });
  return {
    cells: size + 2 * margin,
    boxes: [...drawEyes(size, EYE_ROUNDNESS[eyes]), ...drawModules(size, shape, isDark)].map(place),
    logo:
      covered === undefined || logo === undefined
        ? undefined
        : fit(logo, { ...covered, x: covered.x + margin, y: covered.y + margin }),
  };
}

const isInArea = (x: number, y: number, area: Area): boolean =>
  x >= area.x && x < area.x + area.width && y >= area.y && y < area.y + area.height;

/** All corners but the lower right one have a finder pattern. */
const isInEye = (x: number, y: number, size: number): boolean =>
  (x < EYE.outer && (y < EYE.outer || y >= size - EYE.outer)) ||
  (x >= size - EYE.outer && y < EYE.outer);

function drawEyes(size: number, roundness: number): Box[] {
  const far = size - EYE.outer;
  return [
    [0, 0],
    [far, 0],
    [0, far],
  ].flatMap(([left = 0, top = 0]) =>
    [EYE.outer, EYE.hole, EYE.centre].map((width) => {
      const inset = (EYE.outer - width) / 2;
      const radius = width * roundness;
      return {
        x: left + inset,
        y: top + inset,
        width,
        height: width,
        radii: [radius, radius, radius, radius] as const,
        isHole: width === EYE.hole,
      };
    }),
  );
}

type IsDark = (x: number, y: number) => boolean;

/** A box for each run of dark modules in a row; dots are runs of one. */
function drawModules(size: number, shape: QrStyle["shape"], isDark: IsDark): Box[] {
  // A corner is rounded where neither of its neighbours is dark: dark modules stay connected.
  const radiusBy = (x: number, y: number) =>
    shape === "dots" || (shape === "rounded" && !isDark(x, y)) ? 0.5 : 0;
  const boxes: Box[] = [];
  for (let y = 0; y < size; y++) {
    for (let x = 0; x < size; x++) {
      if (!isDark(x, y)) continue;
      let last = x;
      while (shape !== "dots" && isDark(last + 1, y)) last++;
      const above = [radiusBy(x, y - 1), radiusBy(last, y - 1)] as const;
      const below = [radiusBy(last, y + 1), radiusBy(x, y + 1)] as const;
      const radii = [...above, ...below] as const;
      boxes.push({ x, y, width: last - x + 1, height: 1, radii, isHole: false });
      x = last;
    }
  }
  return boxes;
}

/**
 * Whole modules in the centre for a logo, so many as its shape and the bounds of its area allow.
 */
function coverCentre(size: number, { width, height }: Dimensions): Area {
  const ratio = width / height;
  const area = LOGO_AREA_SHARE * size ** 2;
  const edgeMax = LOGO_EDGE_SHARE * size;
  const cover = (edge: number) => {
    const whole = Math.floor(Math.min(edge, edgeMax));
    // The size of a code is odd: so is what can be in its centre.
    return Math.max(LOGO_EDGE_MIN, whole % 2 === 1 ? whole : whole - 1);
  };
  const [columns, rows] = [cover(Math.sqrt(area * ratio)), cover(Math.sqrt(area / ratio))];
  return { x: (size - columns) / 2, y: (size - rows) / 2, width: columns, height: rows };
}

/** The largest area of the logo's shape within another, in its centre. */
function fit({ width, height }: Dimensions, area: Area): Area {
  const scale = Math.min(
    (area.width - 2 * LOGO_PADDING) / width,
    (area.height - 2 * LOGO_PADDING) / height,
  );
  const [fitWidth, fitHeight] = [width * scale, height * scale];
  return {
    x: area.x + (area.width - fitWidth) / 2,
    y: area.y + (area.height - fitHeight) / 2,
    width: fitWidth,
    height: fitHeight,
  };
}
