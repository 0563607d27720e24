/** Writes black and white PNG images (RFC 2083 / ISO 15948) with one bit per pixel, enough for QR codes. */
import { promisify } from "node:util";
import { crc32, deflate } from "node:zlib";

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** Filter type 0: the row is stored unfiltered. */
const NO_FILTER = 0;

const compress = promisify(deflate);

/**
 * Draws a square image, `edge` pixels wide, of `cells` × `cells` squares; calls `isDark` once per
 * square. Compresses on a separate thread, not on the event loop.
 */
export async function drawPng(
  edge: number,
  cells: number,
  isDark: (row: number, column: number) => boolean,
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
  const header = Buffer.alloc(13);
  header.writeUInt32BE(edge, 0);
  header.writeUInt32BE(edge, 4);
  // Bit depth 1; colour type 0 (greyscale), compression, filter and interlace method stay 0.
  header[8] = 1;
  const parts = [
    SIGNATURE,
    chunk("IHDR", header),
    chunk("IDAT", await compress(pixels)),
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
