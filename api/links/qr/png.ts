/**
 * QR codes as PNG images (ISO 15948) of few colours: with four bytes per pixel, as pngjs writes
 * them, the largest image blocks the event loop for most of a second. Images are drawn in turns of
 * the event loop, and compressed on another thread.
 */
import { promisify } from "node:util";
import { crc32, deflate } from "node:zlib";

import { PNG } from "pngjs";

import { channelsOf } from "../../../shared/contracts/colors.ts";
import { TimeSlice } from "../../../shared/time-slice.ts";
import type { Area, Box, Layout } from "./layout.ts";

const compress = promisify(deflate);

/** Two colours as `#rrggbb`. */
type Colors = { foreground: string; background: string };

/** Colours as red, green and blue; a pixel is the index of one. */
type Palette = number[][];

/** Pixels per module when the requested size is smaller than one pixel per module. */
const FALLBACK_SCALE = 4;

const chooseEdge = (size: number, cells: number): number =>
  size >= cells ? size : cells * FALLBACK_SCALE;

/**
 * Draws an image of `size` pixels, of `cells` × `cells` squares with one bit per pixel; calls
 * `isDark` once per square.
 */
export function drawSquares(
  size: number,
  cells: number,
  isDark: (x: number, y: number) => boolean,
  { foreground, background }: Colors,
): Promise<Uint8Array<ArrayBuffer>> {
  const edge = chooseEdge(size, cells);
  const rowLength = 1 + Math.ceil(edge / 8);
  const rows = Buffer.alloc(rowLength * edge);
  let drawn = -1;
  for (let y = 0; y < edge; y++) {
    const start = y * rowLength;
    const row = Math.floor((y * cells) / edge);
    if (row === drawn) {
      rows.copyWithin(start, start - rowLength, start);
      continue;
    }
    drawn = row;
    const dark = Array.from({ length: cells }, (_, column) => isDark(column, row));
    for (let x = 0; x < edge; x++) {
      if (dark[Math.floor((x * cells) / edge)] === true) continue;
      const at = start + 1 + (x >> 3);
      rows[at] = (rows[at] ?? 0) | (0x80 >> (x & 7));
    }
  }
  const isPlain = foreground === "#000000" && background === "#ffffff";
  return encode(edge, rows, isPlain ? [] : [channelsOf(foreground), channelsOf(background)]);
}

/** Draws a layout as an image of `size` pixels with smooth edges; `logo` is a WebP image. */
export async function drawShapes(
  { boxes, cells, logo: area }: Layout,
  size: number,
  colors: Colors,
  logo: Uint8Array | undefined,
): Promise<Uint8Array<ArrayBuffer>> {
  const canvas = new Canvas(chooseEdge(size, cells), cells, colors);
  const slice = new TimeSlice();
  for (const box of boxes) {
    if (slice.isOver()) await slice.next();
    canvas.paint(box);
  }
  if (area !== undefined && logo !== undefined) await canvas.paste(area, logo, colors.background);
  await slice.next();
  return await canvas.encode();
}

/** A pixel is between 0, the background, and this, the foreground: enough for smooth edges. */
const FULL = 31;

/** Colours that a palette has left for a logo. */
const LOGO_COLORS_MAX = 256 - (FULL + 1);

/** The pixels of a square image, which has a whole number of them per module. */
class Canvas {
  readonly #edge: number;
  readonly #scale: number;
  /** The pixels that are left, as a wider margin. */
  readonly #offset: number;
  readonly #pixels: Uint8Array;
  readonly #palette: Palette;
  /** The corners that were drawn, by their radius in pixels. */
  readonly #corners = new Map<number, Corner>();

  constructor(edge: number, cells: number, { foreground, background }: Colors) {
    this.#edge = edge;
    this.#scale = Math.floor(edge / cells);
    this.#offset = Math.floor((edge - cells * this.#scale) / 2);
    this.#pixels = new Uint8Array(edge * edge);
    const [from, to] = [channelsOf(background), channelsOf(foreground)];
    this.#palette = Array.from({ length: FULL + 1 }, (_, shade) =>
      from.map((value, i) => Math.round(value + (((to[i] ?? value) - value) * shade) / FULL)),
    );
  }

  paint(box: Box): void {
    const [edge, scale] = [this.#edge, this.#scale];
    const [left, top] = [this.#offset + box.x * scale, this.#offset + box.y * scale];
    const [right, bottom] = [left + box.width * scale, top + box.height * scale];
    const [inside, outside] = box.isHole ? [0, FULL] : [FULL, 0];
    for (let y = top; y < bottom; y++) this.#pixels.fill(inside, y * edge + left, y * edge + right);
    for (const [index, radius] of box.radii.entries()) {
      if (radius === 0) continue;
      const corner = this.#corners.get(radius * scale) ?? drawCorner(radius * scale);
      this.#corners.set(radius * scale, corner);
      const [isRight, isBottom] = [index === 1 || index === 2, index >= 2];
      for (let y = 0; y < corner.edge; y++) {
        const row = (isBottom ? bottom - 1 - y : top + y) * edge;
        for (let x = 0; x < corner.edge; x++) {
          const share = corner.covered[y * corner.edge + x] ?? 0;
          const value = outside + ((inside - outside) * share) / FULL;
          this.#pixels[row + (isRight ? right - 1 - x : left + x)] = Math.round(value);
        }
      }
    }
  }

  /** Draws a logo into an area, and adds its colours, on the background, to the palette. */
  async paste(area: Area, logo: Uint8Array, background: string): Promise<void> {
    const toPixels = (modules: number) => Math.round(modules * this.#scale);
    const [left, top] = [this.#offset + toPixels(area.x), this.#offset + toPixels(area.y)];
    const width = Math.max(1, toPixels(area.width));
    const height = Math.max(1, toPixels(area.height));
    const resized = new Bun.Image(logo).resize(width, height);
    const indexed = await resized.png({ palette: true, colors: LOGO_COLORS_MAX }).buffer();
    const { rgb } = await readPixels(indexed, background);
    const indexes = new Map<number, number>();
    const slice = new TimeSlice();
    for (let pixel = 0; pixel < width * height; pixel++) {
      if (pixel % width === 0 && slice.isOver()) await slice.next();
      const [red = 0, green = 0, blue = 0] = rgb.subarray(pixel * 3, pixel * 3 + 3);
      const color = (red << 16) | (green << 8) | blue;
      const index = indexes.get(color) ?? this.#palette.push([red, green, blue]) - 1;
      indexes.set(color, index);
      this.#pixels[(top + Math.floor(pixel / width)) * this.#edge + left + (pixel % width)] = index;
    }
  }

  encode(): Promise<Uint8Array<ArrayBuffer>> {
    const edge = this.#edge;
    const rows = Buffer.alloc((1 + edge) * edge);
    for (let y = 0; y < edge; y++)
      rows.set(this.#pixels.subarray(y * edge, (y + 1) * edge), y * (1 + edge) + 1);
    return encode(edge, rows, this.#palette);
  }
}

/** How much of each pixel of a corner is covered: `edge` × `edge`, from the outer corner on. */
type Corner = { edge: number; covered: Uint8Array };

function drawCorner(radius: number): Corner {
  const edge = Math.ceil(radius);
  const covered = Uint8Array.from({ length: edge ** 2 }, (_, i) => {
    const [x, y] = [i % edge, Math.floor(i / edge)];
    const distance = Math.hypot(radius - x - 0.5, radius - y - 0.5);
    return Math.round(FULL * Math.min(1, Math.max(0, radius + 0.5 - distance)));
  });
  return { edge, covered };
}

/** An opaque image, three bytes per pixel. */
export type Pixels = { width: number; height: number; rgb: Uint8Array };

/** The pixels of a PNG image on a background; reads them in turns of the event loop. */
export async function readPixels(png: Buffer, background: string): Promise<Pixels> {
  const { width, height, data } = PNG.sync.read(png);
  const behind = channelsOf(background);
  const rgb = new Uint8Array(width * height * 3);
  const slice = new TimeSlice();
  for (let pixel = 0; pixel < width * height; pixel++) {
    if (pixel % width === 0 && slice.isOver()) await slice.next();
    const alpha = (data[pixel * 4 + 3] ?? 0) / 255;
    for (let channel = 0; channel < 3; channel++) {
      const value = data[pixel * 4 + channel] ?? 0;
      rgb[pixel * 3 + channel] = Math.round(value * alpha + (behind[channel] ?? 0) * (1 - alpha));
    }
  }
  await slice.next();
  return { width, height, rgb };
}

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** Color types (ISO 15948, 11.2.2). */
const GREYSCALE = 0;
const INDEXED = 3;

/**
 * Encodes the rows of a square image, each of which begins with a byte for its filter, none: with
 * one bit per pixel for up to two colours, else with one byte. Without a palette, 0 is black and 1
 * white.
 */
async function encode(
  edge: number,
  rows: Buffer,
  palette: Palette,
): Promise<Uint8Array<ArrayBuffer>> {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(edge, 0);
  header.writeUInt32BE(edge, 4);
  // Compression, filter and interlace method stay 0.
  header.set([palette.length > 2 ? 8 : 1, palette.length === 0 ? GREYSCALE : INDEXED], 8);
  const parts = [
    SIGNATURE,
    chunk("IHDR", header),
    ...(palette.length === 0 ? [] : [chunk("PLTE", Buffer.from(palette.flat()))]),
    chunk("IDAT", await compress(rows)),
    chunk("IEND", Buffer.alloc(0)),
  ];
  return new Uint8Array(Buffer.concat(parts));
}

function chunk(type: string, data: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}
