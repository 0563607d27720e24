/** QR codes as PNG images with smooth edges, and with a logo. */
import { channelsOf } from "../../../shared/contracts/colors.ts";
import { beginTurn, type Turn } from "../../../shared/turns.ts";
import type { Area, Box, Dimensions, Layout } from "./layout.ts";
import type { Pixels } from "./logo.ts";
import { encodeIndexes, type TwoColors } from "./png.ts";

/**
 * A pixel is between 0, the background, and this, the foreground: enough shades for smooth edges.
 */
const FULL = 31;

/**
 * Colours that the palette has left for a logo. With three bytes per pixel instead, the largest
 * image took half a second.
 */
export const LOGO_COLORS_MAX = 256 - (FULL + 1);

/** Whole pixels per module, and the pixels that are left, as a wider margin. */
export type Grid = { edge: number; scale: number; offset: number };

/** How an image of `edge` pixels, at least as many as modules, is divided. */
export function createGrid(edge: number, cells: number): Grid {
  const scale = Math.floor(edge / cells);
  return { edge, scale, offset: Math.floor((edge - cells * scale) / 2) };
}

/** The dimensions of a logo within an image, in whole pixels. */
export const scaleLogo = ({ width, height }: Area, { scale }: Grid): Dimensions => ({
  width: Math.max(1, Math.round(width * scale)),
  height: Math.max(1, Math.round(height * scale)),
});

/** Draws a layout in turns of the event loop, and compresses the image on a separate thread. */
export async function drawRaster(
  { boxes, logo }: Layout,
  grid: Grid,
  colors: TwoColors,
  pixels: Pixels | undefined,
): Promise<Uint8Array<ArrayBuffer>> {
  const { edge, scale, offset } = grid;
  const image = new Uint8Array(edge * edge);
  const turn = beginTurn();
  const corners = createCorners();
  for (const box of boxes) {
    if (turn.isOver()) await turn.next();
    paint(image, grid, box, corners);
  }
  const palette = createPalette(colors);
  if (logo !== undefined && pixels !== undefined) {
    const [x = 0, y = 0] = [logo.x, logo.y].map((value) => Math.round(offset + value * scale));
    await paste(image, grid, { x, y }, pixels, palette, turn);
  }
  await turn.next();
  return await encodeIndexes(edge, image, palette);
}

/** Draws pixels with the given upper left corner, and adds their colours to the palette. */
async function paste(
  image: Uint8Array,
  { edge }: Grid,
  at: { x: number; y: number },
  { width, height, rgb }: Pixels,
  palette: number[][],
  turn: Turn,
): Promise<void> {
  const indexes = new Map<number, number>();
  for (let pixel = 0; pixel < width * height; pixel++) {
    if (pixel % width === 0 && turn.isOver()) await turn.next();
    const [red = 0, green = 0, blue = 0] = [rgb[pixel * 3], rgb[pixel * 3 + 1], rgb[pixel * 3 + 2]];
    const color = (red << 16) | (green << 8) | blue;
    let index = indexes.get(color);
    if (index === undefined) {
      index = palette.push([red, green, blue]) - 1;
      indexes.set(color, index);
    }
    image[(at.y + Math.floor(pixel / width)) * edge + at.x + (pixel % width)] = index;
  }
}

/** The colours from background to foreground. */
function createPalette({ foreground, background }: TwoColors): number[][] {
  const [from, to] = [channelsOf(background), channelsOf(foreground)];
  return Array.from({ length: FULL + 1 }, (_, index) =>
    from.map((value, i) => Math.round(value + (((to[i] ?? value) - value) * index) / FULL)),
  );
}

/**
 * How much of each pixel of a corner is covered: `edge` × `edge` of them, from the outer corner on.
 */
type Corner = { edge: number; covered: Uint8Array };

/** Draws corners by their radius in pixels, each once. */
function createCorners() {
  const drawn = new Map<number, Corner>();
  return (radius: number): Corner => {
    const known = drawn.get(radius);
    if (known !== undefined) return known;
    const edge = Math.ceil(radius);
    const covered = new Uint8Array(edge * edge);
    for (let y = 0; y < edge; y++) {
      for (let x = 0; x < edge; x++) {
        const distance = Math.hypot(radius - x - 0.5, radius - y - 0.5);
        covered[y * edge + x] = Math.round(
          FULL * Math.min(1, Math.max(0, radius + 0.5 - distance)),
        );
      }
    }
    const corner = { edge, covered };
    drawn.set(radius, corner);
    return corner;
  };
}

function paint(
  image: Uint8Array,
  { edge, scale, offset }: Grid,
  box: Box,
  corners: (radius: number) => Corner,
): void {
  const [left, top] = [offset + box.x * scale, offset + box.y * scale];
  const [right, bottom] = [left + box.width * scale, top + box.height * scale];
  const [inside, outside] = box.isHole ? [0, FULL] : [FULL, 0];
  for (let y = top; y < bottom; y++) image.fill(inside, y * edge + left, y * edge + right);
  for (const [index, radius] of box.radii.entries()) {
    if (radius === 0) continue;
    const { edge: size, covered } = corners(radius * scale);
    const isRight = index === 1 || index === 2;
    const isBottom = index >= 2;
    for (let y = 0; y < size; y++) {
      const row = (isBottom ? bottom - 1 - y : top + y) * edge;
      for (let x = 0; x < size; x++) {
        const share = covered[y * size + x] ?? 0;
        const value = outside + ((inside - outside) * share) / FULL;
        image[row + (isRight ? right - 1 - x : left + x)] = Math.round(value);
      }
    }
  }
}
