/** Reads the bodies of requests: posted forms, with a length or chunked (RFC 9112 §6, §7.1). */
import type { ByteSlice } from "../../shared/bytes.ts";
import { CR, decodeLatin1, LF } from "./bytes.ts";
import { type ParseResult, PARTIAL, reject, type RequestHead } from "./request.ts";

/**
 * Maximum bytes of a chunked body besides its content: lines with sizes, extensions and trailers. A
 * form has some chunks, and all of them are read again with each packet that arrives.
 */
const FRAMING_BYTES_MAX = 1024;

/** The size of a chunk, with extensions, which are ignored (RFC 9112 §7.1.1). */
const CHUNK_LINE = /^([0-9A-Fa-f]{1,8})(?:;[\t\x20-\x7e\x80-\xff]*)?$/;

const TRAILER_LINE = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e\x80-\xff]*$/;

/**
 * Reads the body that starts at `from` into `body`. Returns the position of its end, or a result
 * that ends reading; 413 for a body of more than `bytesMax`.
 */
export function readBody(
  head: RequestHead,
  bytes: Buffer,
  from: number,
  bytesMax: number,
  body: ByteSlice,
): number | ParseResult {
  if (head.chunked) return readChunks(bytes, from, bytesMax, body);
  if (head.contentLength > bytesMax) return reject(413);
  const end = from + head.contentLength;
  if (bytes.length < end) return PARTIAL;
  body.bytes = bytes;
  body.start = from;
  body.end = end;
  return end;
}

function readChunks(
  bytes: Buffer,
  from: number,
  bytesMax: number,
  body: ByteSlice,
): number | ParseResult {
  const chunks: Buffer[] = [];
  const limit = from + bytesMax + FRAMING_BYTES_MAX;
  const incomplete = () => (bytes.length < limit ? PARTIAL : reject(413));
  let length = 0;
  let at = from;
  for (;;) {
    const line = readLine(bytes, at, limit);
    if (typeof line !== "string") return line ?? incomplete();
    const [, hex] = CHUNK_LINE.exec(line) ?? [];
    if (hex === undefined) return reject(400);
    const size = Number.parseInt(hex, 16);
    const start = at + line.length + 2;
    if (size === 0) {
      at = start;
      break;
    }
    length += size;
    if (length > bytesMax) return reject(413);
    at = start + size + 2;
    if (at > bytes.length || at > limit) return incomplete();
    if (bytes[at - 2] !== CR || bytes[at - 1] !== LF) return reject(400);
    chunks.push(bytes.subarray(start, start + size));
  }
  // Trailers are discarded (RFC 9110 §6.5.1).
  for (;;) {
    const line = readLine(bytes, at, limit);
    if (typeof line !== "string") return line ?? incomplete();
    at += line.length + 2;
    if (line === "") break;
    if (!TRAILER_LINE.test(line)) return reject(400);
  }
  body.bytes = Buffer.concat(chunks);
  body.start = 0;
  body.end = length;
  return at;
}

/** The line at `from`; undefined when its end is not there, or a rejection. */
function readLine(bytes: Buffer, from: number, limit: number): string | ParseResult | undefined {
  const last = Math.min(bytes.length, limit);
  let at = from;
  while (at < last && bytes[at] !== CR && bytes[at] !== LF) at++;
  if (at < last && bytes[at] === LF) return reject(400);
  if (at + 1 >= last) return undefined;
  return bytes[at + 1] === LF ? decodeLatin1(bytes, from, at) : reject(400);
}
