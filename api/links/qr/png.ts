/** Writes square PNG images (RFC 2083 / ISO 15948), enough for QR codes. */
import { promisify } from "node:util";
import { crc32, deflate } from "node:zlib";

import { channelsOf } from "../../../shared/contracts/colors.ts";

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** Filter type 0: the row is stored unfiltered. */
const NO_FILTER = 0;

/** How pixels are stored (ISO 15948, 11.2.2): bits per sample, and what a sample is. */
type PixelFormat = { bitDepth: number; colorType: number };

const BLACK_AND_WHITE: PixelFormat = { bitDepth: 1, colorType: 0 };
const TWO_COLORS: PixelFormat = { bitDepth: 1, colorType: 3 };
const PALETTE: PixelFormat = { bitDepth: 8, colorType: 3 };

const compress = promisify(deflate);

/** Two colours as `#rrggbb`. */
export type TwoColors = { foreground: string; background: string };

/**
 * Draws a square image, `edge` pixels wide, of `cells` × `cells` squares with one bit per pixel;
 * calls `isDark` once per square.
 */
export function drawSquares(
  edge: number,
  cells: number,
  isDark: (row: number, column: number) => boolean,
  { foreground, background }: TwoColors,
): Promise<Uint8Array<ArrayBuffer>> {
  const rowLength = 1 + Math.ceil(edge / 8);
  const pixels = Buffer.alloc(rowLength * edge);
  let drawn = -1;
  for (let y = 0; y < edge; y++) {
    const start = y * rowLength;
    const row = Math.floor((y * cells) / edge);
    if (row === drawn) {
      pixels.copyWithin(start, start - rowLength, start);
      continue;
    }
    drawn = row;
    pixels[start] = NO_FILTER;
    const dark = Array.from({ length: cells }, (_, column) => isDark(row, column));
    for (let x = 0; x < edge; x++) {
      if (dark[Math.floor((x * cells) / edge)] === true) continue;
      const at = start + 1 + (x >> 3);
      pixels[at] = (pixels[at] ?? 0) | (0x80 >> (x & 7));
    }
  }
  return foreground === "#000000" && background === "#ffffff"
    ? encodePng(edge, BLACK_AND_WHITE, pixels)
    : encodePng(edge, TWO_COLORS, pixels, [channelsOf(foreground), channelsOf(background)]);
}

/** Encodes an image of indexes of a palette of up to 256 colours, one byte per pixel. */
export function encodeIndexes(
  edge: number,
  indexes: Uint8Array,
  palette: readonly number[][],
): Promise<Uint8Array<ArrayBuffer>> {
  const rowLength = 1 + edge;
  const rows = Buffer.alloc(rowLength * edge);
  for (let y = 0; y < edge; y++)
    rows.set(indexes.subarray(y * edge, (y + 1) * edge), y * rowLength + 1);
  return encodePng(edge, PALETTE, rows, palette);
}

/** Compresses on a separate thread, not on the event loop. */
async function encodePng(
  edge: number,
  { bitDepth, colorType }: PixelFormat,
  rows: Buffer,
  palette?: readonly number[][],
): Promise<Uint8Array<ArrayBuffer>> {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(edge, 0);
  header.writeUInt32BE(edge, 4);
  // Compression, filter and interlace method stay 0.
  header.set([bitDepth, colorType], 8);
  const parts = [
    SIGNATURE,
    chunk("IHDR", header),
    ...(palette === undefined ? [] : [chunk("PLTE", Buffer.from(palette.flat()))]),
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
