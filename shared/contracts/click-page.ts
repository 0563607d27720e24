/**
 * The page: a sealed run of clicks. It is the unit of everything after the redirect: one journal
 * page = one JetStream message = one ClickHouse insert, under one id that never changes, so that
 * each stage can recognise a repeat.
 *
 * Bytes, little-endian: a 32-byte header, then records.
 *   header: "SHCP", u8 version, 3 zero bytes, 16-byte journal UUID, u32 page number, 4 zero bytes
 *   record: u32 payload length, u32 CRC-32 of the payload, payload
 * A record torn by a crash fails its length or its checksum and ends the page.
 */
import { newPassage, type Passage, passageOf, type Span } from "../bytes.ts";
import type { Uuid } from "../ids.ts";
import type { Mode } from "./link-record.ts";

export const PAGE_HEADER_BYTES = 32;

/** The most clicks a page holds: with their bytes and age, what seals it. */
export const PAGE_CLICKS_MAX = 2_000;

/** The most bytes a page holds, header included; under the 1 MiB NATS takes by default. */
export const PAGE_BYTES_MAX = 768 * 1024;

const MAGIC = 0x50434853; // "SHCP"
const VERSION = 1;
const RECORD_HEADER_BYTES = 8;

/** The bytes of an id. */
export const ID_BYTES = 16;

/** The most bytes kept of each text of a click; what is longer is cut, never refused. */
const TEXT_BYTES_MAX = {
  address: 45,
  host: 255,
  userAgent: 512,
  referrer: 1024,
  language: 64,
  query: 512,
};

/** The most bytes one record can take: fixed part, six texts with their lengths, its own header. */
export const RECORD_BYTES_MAX =
  RECORD_HEADER_BYTES +
  8 +
  16 +
  16 +
  1 +
  6 * 2 +
  Object.values(TEXT_BYTES_MAX).reduce((sum, bytes) => sum + bytes, 0);

export type Click = {
  /** Unix milliseconds of the answer. */
  time: number;
  linkId: Uuid;
  accountId: Uuid;
  mode: Mode;
  /** The request declared itself a prefetch (`Sec-Purpose` or `Purpose`). */
  prefetch: boolean;
  /** The request carried `Sec-GPC: 1` or `DNT: 1`. */
  privacy: boolean;
  /** The client's IP address as text; dropped by the worker after enrichment. */
  address: string;
  /** The short URL's host in lower case, without port. */
  host: string;
  userAgent: string;
  referrer: string;
  /** The `Accept-Language` header. */
  language: string;
  /** The short URL's own query, without `?`. */
  query: string;
};

export type PageId = { journalId: Uuid; page: number };

export type ClickPage = PageId & {
  clicks: Click[];
  /** False when the bytes after the last whole record are not a record: a torn or damaged tail. */
  whole: boolean;
};

/** The id JetStream and ClickHouse know a page by. */
export const pageIdText = ({ journalId, page }: PageId): string => `${journalId}:${page}`;

const FLAG_TEST = 1;
const FLAG_PREFETCH = 2;
const FLAG_PRIVACY = 4;

/** Writes a page's header. */
export function encodePageHeader({ journalId, page }: PageId): Buffer {
  const header = Buffer.alloc(PAGE_HEADER_BYTES);
  header.writeUInt32LE(MAGIC, 0);
  header.writeUInt8(VERSION, 4);
  writeUuid(header, 8, journalId);
  header.writeUInt32LE(page, 24);
  return header;
}

/** A click as a request brings it: texts that are still bytes of the request stay so. */
export type RawClick = {
  time: number;
  /** The ids of the link and its account, {@link ID_BYTES} each. */
  ids: Passage;
  mode: Mode;
  prefetch: boolean;
  privacy: boolean;
  address: string;
  host: string;
  /** What the spans point into. */
  bytes: Buffer;
  userAgent: Span;
  referrer: Span;
  language: Span;
  query: Span;
};

/**
 * Writes one record at `start` of `target`, which must have {@link RECORD_BYTES_MAX} bytes left, and
 * returns where it ends. Allocates next to nothing: it runs within a redirect.
 */
export function encodeRawClick(target: Buffer, start: number, click: RawClick): number {
  const { bytes, ids } = click;
  let offset = start + RECORD_HEADER_BYTES;
  target.writeDoubleLE(click.time, offset);
  ids.bytes.copy(target, offset + 8, ids.start, ids.end);
  target[offset + 40] = flagsOf(click);
  offset += 41;
  offset = writeText(target, offset, click.address, TEXT_BYTES_MAX.address);
  offset = writeText(target, offset, click.host, TEXT_BYTES_MAX.host);
  offset = writeSpan(target, offset, bytes, click.userAgent, TEXT_BYTES_MAX.userAgent);
  offset = writeSpan(target, offset, bytes, click.referrer, TEXT_BYTES_MAX.referrer);
  offset = writeSpan(target, offset, bytes, click.language, TEXT_BYTES_MAX.language);
  offset = writeSpan(target, offset, bytes, click.query, TEXT_BYTES_MAX.query);
  target.writeUInt32LE(offset - start - RECORD_HEADER_BYTES, start);
  const crc = Bun.hash.crc32(target.subarray(start + RECORD_HEADER_BYTES, offset));
  target.writeUInt32LE(crc, start + 4);
  return offset;
}

/** A click of nothing, to be filled in. */
export const newRawClick = (): RawClick => ({
  time: 0,
  ids: newPassage(),
  mode: "live",
  prefetch: false,
  privacy: false,
  address: "",
  host: "",
  bytes: Buffer.alloc(0),
  userAgent: EMPTY,
  referrer: EMPTY,
  language: EMPTY,
  query: EMPTY,
});

/** A click whose texts are texts, as a request would bring it. */
export function toRawClick(click: Click): RawClick {
  const texts = [click.userAgent, click.referrer, click.language, click.query].map((text) =>
    Buffer.from(text),
  );
  let end = 0;
  const [userAgent = EMPTY, referrer = EMPTY, language = EMPTY, query = EMPTY] = texts.map(
    ({ length }) => ({ start: end, end: (end += length) }),
  );
  const ids = Buffer.alloc(2 * ID_BYTES);
  writeUuid(ids, 0, click.linkId);
  writeUuid(ids, ID_BYTES, click.accountId);
  return {
    ...click,
    ids: passageOf(ids),
    bytes: Buffer.concat(texts),
    userAgent,
    referrer,
    language,
    query,
  };
}

const SHORT = 40;

const EMPTY: Span = { start: 0, end: 0 };

const flagsOf = (click: Pick<RawClick, "mode" | "prefetch" | "privacy">): number =>
  (click.mode === "test" ? FLAG_TEST : 0) |
  (click.prefetch ? FLAG_PREFETCH : 0) |
  (click.privacy ? FLAG_PRIVACY : 0);

/** Where the whole records of a page end, and how many there are; undefined for a foreign file. */
export function scanPage(bytes: Buffer): (PageId & { end: number; count: number }) | undefined {
  if (bytes.length < PAGE_HEADER_BYTES) return undefined;
  if (bytes.readUInt32LE(0) !== MAGIC || bytes.readUInt8(4) !== VERSION) return undefined;
  let end = PAGE_HEADER_BYTES;
  let count = 0;
  for (let next = recordEnd(bytes, end); next !== undefined; next = recordEnd(bytes, end)) {
    end = next;
    count++;
  }
  return { journalId: readUuid(bytes, 8), page: bytes.readUInt32LE(24), end, count };
}

/** Reads a page; undefined when the bytes are not a page of a version known here. */
export function decodePage(bytes: Buffer): ClickPage | undefined {
  const scan = scanPage(bytes);
  if (scan === undefined) return undefined;
  const clicks: Click[] = [];
  for (let offset = PAGE_HEADER_BYTES; offset < scan.end;) {
    const length = bytes.readUInt32LE(offset);
    const start = offset + RECORD_HEADER_BYTES;
    clicks.push(decodeClick(bytes.subarray(start, start + length)));
    offset = start + length;
  }
  return { journalId: scan.journalId, page: scan.page, clicks, whole: scan.end === bytes.length };
}

function decodeClick(payload: Buffer): Click {
  const flags = payload.readUInt8(40);
  const texts = readTexts(payload, 41);
  return {
    time: payload.readDoubleLE(0),
    linkId: readUuid(payload, 8),
    accountId: readUuid(payload, 24),
    mode: (flags & FLAG_TEST) === 0 ? "live" : "test",
    prefetch: (flags & FLAG_PREFETCH) !== 0,
    privacy: (flags & FLAG_PRIVACY) !== 0,
    address: texts[0] ?? "",
    host: texts[1] ?? "",
    userAgent: texts[2] ?? "",
    referrer: texts[3] ?? "",
    language: texts[4] ?? "",
    query: texts[5] ?? "",
  };
}

function recordEnd(bytes: Buffer, offset: number): number | undefined {
  if (bytes.length - offset < RECORD_HEADER_BYTES) return undefined;
  const start = offset + RECORD_HEADER_BYTES;
  const length = bytes.readUInt32LE(offset);
  if (length === 0 || length > RECORD_BYTES_MAX || start + length > bytes.length) return undefined;
  const crc = Bun.hash.crc32(bytes.subarray(start, start + length));
  return crc === bytes.readUInt32LE(offset + 4) ? start + length : undefined;
}

/**
 * Writes length and UTF-8 bytes; `Buffer.write` cuts at `max` without splitting a character. A short text
 * of ASCII, as addresses and hosts are, is written sooner than that is called.
 */
function writeText(target: Buffer, offset: number, text: string, max: number): number {
  if (text.length <= SHORT) {
    let at = offset + 2;
    let all = 0;
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      all |= code;
      target[at++] = code;
    }
    if (all < 128) {
      target[offset] = text.length;
      target[offset + 1] = 0;
      return at;
    }
  }
  const length = target.write(text, offset + 2, max, "utf8");
  target.writeUInt16LE(length, offset);
  return offset + 2 + length;
}

/** As {@link writeText}, of bytes; what is cut is cut between characters of UTF-8. */
function writeSpan(
  target: Buffer,
  offset: number,
  bytes: Buffer,
  { start, end }: Span,
  max: number,
): number {
  let length = end - start;
  if (length > max) {
    length = max;
    while (length > 0 && ((bytes[start + length] ?? 0) & 0xc0) === 0x80) length--;
  }
  target.writeUInt16LE(length, offset);
  if (length > 0) bytes.copy(target, offset + 2, start, start + length);
  return offset + 2 + length;
}

function readTexts(payload: Buffer, start: number): string[] {
  const texts: string[] = [];
  for (let offset = start; offset + 2 <= payload.length;) {
    const length = payload.readUInt16LE(offset);
    texts.push(payload.toString("utf8", offset + 2, offset + 2 + length));
    offset += 2 + length;
  }
  return texts;
}

/** Writes an id in {@link ID_BYTES}. */
export function writeUuid(target: Buffer, offset: number, uuid: Uuid): void {
  target.write(uuid.replaceAll("-", ""), offset, ID_BYTES, "hex");
}

/** What {@link writeUuid} wrote. */
export function readUuid(bytes: Buffer, offset: number): Uuid {
  const hex = bytes.toString("hex", offset, offset + ID_BYTES);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
