/** Outlines of boxes, in the commands of SVG and of PDF. */
import type { Box } from "./layout.ts";

/** Writes an outline clockwise, from the upper left corner. */
export type Pen = {
  move(x: number, y: number): string;
  line(x: number, y: number): string;
  /** A quarter of a circle around a corner of the box; `from` is where the pen is. */
  corner(from: Point, corner: Point, to: Point): string;
  close: string;
};

export type Point = [x: number, y: number];

/**
 * The outlines of all boxes as one path. It is filled by the even-odd rule, which makes holes. One
 * path, because renderers leave a seam between shapes of their own that touch.
 */
export const tracePath = (boxes: readonly Box[], pen: Pen): string =>
  boxes.map((box) => traceBox(box, pen)).join("");

function traceBox({ x, y, width, height, radii }: Box, pen: Pen): string {
  const [topLeft, topRight, bottomRight, bottomLeft] = radii;
  const [right, bottom] = [x + width, y + height];
  const parts = [pen.move(x + topLeft, y)];
  /** A line to where a corner begins, and the corner. */
  const turn = (radius: number, from: Point, corner: Point, to: Point) => {
    parts.push(pen.line(...from));
    if (radius > 0) parts.push(pen.corner(from, corner, to));
  };
  turn(topRight, [right - topRight, y], [right, y], [right, y + topRight]);
  turn(bottomRight, [right, bottom - bottomRight], [right, bottom], [right - bottomRight, bottom]);
  turn(bottomLeft, [x + bottomLeft, bottom], [x, bottom], [x, bottom - bottomLeft]);
  turn(topLeft, [x, y + topLeft], [x, y], [x + topLeft, y]);
  return [...parts, pen.close].join("");
}

/** A number with at most three decimals: a module has at most some hundred pixels. */
export const round = (value: number): string => `${Math.round(value * 1_000) / 1_000}`;
