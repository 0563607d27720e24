/** PNG images of any size, for what decodes uploaded ones. */
import { crc32, deflateSync } from "node:zlib";

type Options = {
  /** Random pixels, which cannot be compressed, in the first rows. */
  noise?: boolean;
  /** A comment in the file. */
  comment?: string;
};

/** Encodes an image in one grey. */
export function createPng(
  width: number,
  height: number,
  { noise = false, comment = "" }: Options = {},
): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  // Eight bits for each of red, green and blue.
  header.set([8, 2, 0, 0, 0], 8);
  const row = width * 3 + 1;
  const pixels = Buffer.alloc(row * height, 0x80);
  if (noise) crypto.getRandomValues(pixels.subarray(0, 65_536));
  for (let y = 0; y < height; y++) pixels[y * row] = 0;
  return Buffer.concat([
    Buffer.from("\x89PNG\r\n\x1a\n", "latin1"),
    createChunk("IHDR", header),
    createChunk("tEXt", Buffer.from(`Comment\0${comment}`, "latin1")),
    createChunk("IDAT", deflateSync(pixels)),
    createChunk("IEND", Buffer.alloc(0)),
  ]);
}

function createChunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}
