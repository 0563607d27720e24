/**
 * The segment: a sequence of clicks. A redirector seals it and never changes it again. It is the unit of everything
 * after the redirect: one journal file and one JetStream message, whose clicks are stored together, all under one id, so
 * that each stage recognises duplicates.
 *
 * Format, little-endian: a 32-byte header, then records.
 *   header: "SHCP", u8 version, 3 zero bytes, 16-byte journal UUID, u32 segment number, 4 zero bytes
 *   record: u32 payload length, u32 CRC-32 of the payload, payload
 * A record torn by a crash has a wrong length or checksum; the segment ends before it. One that a disk has damaged is left
 * out, and those behind it count: its length leads to them.
 */
import { type ByteRange, type ByteSlice, emptySlice, toSlice } from "../bytes.ts";
import type { Uuid } from "../ids.ts";
import type { Mode } from "./link-record.ts";

export const SEGMENT_HEADER_BYTES = 32;

/** Most clicks of a segment. A segment is sealed by its clicks, its bytes or its age, whichever limit it reaches first. */
export const SEGMENT_CLICKS_MAX = 2_000;

/** Most bytes of a segment, header included; below the 1 MiB that NATS accepts by default. */
export const SEGMENT_BYTES_MAX = 768 * 1024;

const MAGIC = 0x50434853; // "SHCP"
const VERSION = 1;
const RECORD_HEADER_BYTES = 8;

/** Bytes of an encoded UUID. */
export const ID_BYTES = 16;

/** Most bytes stored of each text of a click. Longer texts are truncated, never rejected. */
const TEXT_BYTES_MAX = {
  address: 45,
  host: 255,
  userAgent: 512,
  referrer: 1024,
  language: 64,
  query: 512,
};

/** For those who must read a request as its click does. */
export const CLICK_TEXT_BYTES_MAX: Readonly<typeof TEXT_BYTES_MAX> = TEXT_BYTES_MAX;

/** Most bytes of one record: its header, the fixed fields, and six texts with their lengths. */
export const RECORD_BYTES_MAX =
  RECORD_HEADER_BYTES +
  8 +
  16 +
  16 +
  1 +
  6 * 2 +
  Object.values(TEXT_BYTES_MAX).reduce((sum, bytes) => sum + bytes, 0);

export type Click = {
  /** Unix milliseconds of the response. */
  time: number;
  linkId: Uuid;
  accountId: Uuid;
  mode: Mode;
  /** The request declared itself a prefetch (`Sec-Purpose` or `Purpose`). */
  prefetch: boolean;
  /** The request carried `Sec-GPC: 1` or `DNT: 1`. */
  privacy: boolean;
  /** The client's IP address as text. The worker drops it after enrichment. */
  address: string;
  /** The short URL's host in lower case, without port. */
  host: string;
  userAgent: string;
  referrer: string;
  /** The `Accept-Language` header. */
  language: string;
  /** The short URL's own query, without `?`, and after it the UTM parameters of the link. */
  query: string;
  /** Where it led instead of to the link's own destination. */
  target?: ClickTarget | undefined;
};

/** A rule of a link or an arm of its split. */
export type ClickTarget = { kind: "rule" | "arm"; id: Uuid };

export type SegmentId = { journalId: Uuid; segment: number };

export type ClickSegment = SegmentId & {
  clicks: Click[];
  /** False when there are bytes that are not a valid record: a crash has torn the tail, or a disk has damaged a part. */
  whole: boolean;
};

/** The segment's id as text, by which JetStream recognises duplicates (`Nats-Msg-Id`). */
export const formatSegmentId = ({ journalId, segment }: SegmentId): string =>
  `${journalId}:${segment}`;

const FLAG_TEST = 1;
const FLAG_PREFETCH = 2;
const FLAG_PRIVACY = 4;
/** The id of a rule or of an arm follows the texts; versions without targets ignore it. */
const FLAG_RULE = 8;
const FLAG_ARM = 16;

/** Encodes the header of a segment. */
export function encodeSegmentHeader({ journalId, segment }: SegmentId): Buffer {
  const header = Buffer.alloc(SEGMENT_HEADER_BYTES);
  header.writeUInt32LE(MAGIC, 0);
  header.writeUInt8(VERSION, 4);
  writeUuid(header, 8, journalId);
  header.writeUInt32LE(segment, 24);
  return header;
}

/** A click at the time of its request. Header values are ranges of the request's bytes, not yet decoded. */
export type RawClick = {
  time: number;
  /** The UUIDs of the link and its account, {@link ID_BYTES} each. */
  ids: ByteSlice;
  mode: Mode;
  prefetch: boolean;
  privacy: boolean;
  address: string;
  host: string;
  /** The bytes that the ranges below refer to. */
  bytes: Buffer;
  userAgent: ByteRange;
  referrer: ByteRange;
  language: ByteRange;
  query: ByteRange;
  target?: ClickTarget | undefined;
  /** The link's own UTM parameters as a query. */
  linkUtm?: Buffer | undefined;
};

/**
 * Encodes a click as one record into `target` at `start`, where {@link RECORD_BYTES_MAX} bytes must be free. Returns
 * the record's end. It runs within a redirect, so it allocates almost nothing.
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
  offset = writeRange(target, offset, bytes, click.userAgent, TEXT_BYTES_MAX.userAgent);
  offset = writeRange(target, offset, bytes, click.referrer, TEXT_BYTES_MAX.referrer);
  offset = writeRange(target, offset, bytes, click.language, TEXT_BYTES_MAX.language);
  // No record is longer than one without a target.
  const idBytes = click.target === undefined ? 0 : ID_BYTES;
  const queryAt = offset;
  offset = writeRange(target, offset, bytes, click.query, TEXT_BYTES_MAX.query - idBytes);
  if (click.linkUtm !== undefined)
    offset = appendQuery(
      target,
      queryAt,
      offset,
      click.linkUtm,
      start + RECORD_BYTES_MAX - idBytes,
    );
  if (click.target !== undefined) {
    writeUuid(target, offset, click.target.id);
    offset += ID_BYTES;
  }
  target.writeUInt32LE(offset - start - RECORD_HEADER_BYTES, start);
  const crc = Bun.hash.crc32(target.subarray(start + RECORD_HEADER_BYTES, offset));
  target.writeUInt32LE(crc, start + 4);
  return offset;
}

/**
 * Appends `more` to the query that was written between `at` and `offset`, as far as there is room before `end`: of parameters
 * with one name the first counts, so those of the short URL win.
 */
function appendQuery(
  target: Buffer,
  at: number,
  offset: number,
  more: Buffer,
  end: number,
): number {
  if (offset >= end) return offset;
  target[offset] = AMPERSAND;
  const length = Math.min(more.length, end - offset - 1);
  more.copy(target, offset + 1, 0, length);
  target.writeUInt16LE(offset + 1 + length - at - 2, at);
  return offset + 1 + length;
}

/** Creates an empty click whose fields the caller sets; the hot path reuses it. */
export const newRawClick = (): RawClick => ({
  time: 0,
  ids: emptySlice(),
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
  target: undefined,
  linkUtm: undefined,
});

/** Converts a decoded click into a {@link RawClick}. */
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
    ids: toSlice(ids),
    bytes: Buffer.concat(texts),
    userAgent,
    referrer,
    language,
    query,
  };
}

/** Up to this many characters, {@link writeText} copies ASCII itself instead of calling `Buffer.write`. */
const ASCII_COPY_LENGTH_MAX = 40;

const AMPERSAND = 0x26;

const EMPTY: ByteRange = { start: 0, end: 0 };

const flagsOf = (click: Pick<RawClick, "mode" | "prefetch" | "privacy" | "target">): number =>
  (click.mode === "test" ? FLAG_TEST : 0) |
  (click.prefetch ? FLAG_PREFETCH : 0) |
  (click.privacy ? FLAG_PRIVACY : 0) |
  (click.target === undefined ? 0 : click.target.kind === "rule" ? FLAG_RULE : FLAG_ARM);

/** The kind of a click's target; undefined without one. */
const targetKindOf = (flags: number): ClickTarget["kind"] | undefined => {
  if ((flags & FLAG_RULE) !== 0) return "rule";
  return (flags & FLAG_ARM) === 0 ? undefined : "arm";
};

/** What a segment consists of: its id, the end of its last valid record, and the number of valid records. */
type SegmentScan = SegmentId & {
  end: number;
  count: number;
  /** Where records begin that are damaged, before the last valid one. */
  damaged: readonly number[];
};

/** Verifies a segment; undefined for other bytes. */
export function scanSegment(bytes: Buffer): SegmentScan | undefined {
  const id = readSegmentId(bytes);
  if (id === undefined) return undefined;
  let end = SEGMENT_HEADER_BYTES;
  let count = 0;
  const damaged: number[] = [];
  /** Invalid records behind the last valid one: the torn tail, unless another valid one follows. */
  let invalid: number[] = [];
  for (let offset = end; ;) {
    const next = payloadEnd(bytes, offset);
    if (next === undefined) return { ...id, end, count, damaged };
    if (hasValidChecksum(bytes, offset, next)) {
      damaged.push(...invalid);
      invalid = [];
      end = next;
      count++;
    } else {
      invalid.push(offset);
    }
    offset = next;
  }
}

/** Whether all bytes of a segment that was scanned are valid records. */
export const isWhole = ({ end, damaged }: SegmentScan, bytes: Buffer): boolean =>
  end === bytes.length && damaged.length === 0;

/** Where the valid records of a segment begin that was scanned, in order. */
export function* recordOffsets(scan: SegmentScan, bytes: Buffer): Generator<number> {
  const damaged = new Set(scan.damaged);
  for (let offset = SEGMENT_HEADER_BYTES; offset < scan.end;) {
    if (!damaged.has(offset)) yield offset;
    offset += RECORD_HEADER_BYTES + bytes.readUInt32LE(offset);
  }
}

/** Reads the id from a header without checking the records; undefined when the bytes do not begin with a header. */
export function readSegmentId(bytes: Buffer): SegmentId | undefined {
  if (bytes.length < SEGMENT_HEADER_BYTES) return undefined;
  if (bytes.readUInt32LE(0) !== MAGIC || bytes.readUInt8(4) !== VERSION) return undefined;
  return { journalId: readUuid(bytes, 8), segment: bytes.readUInt32LE(24) };
}

/** Decodes a segment; undefined when the bytes are not a segment of a supported version. */
export function decodeSegment(bytes: Buffer): ClickSegment | undefined {
  const scan = scanSegment(bytes);
  if (scan === undefined) return undefined;
  const clicks: Click[] = [];
  for (const offset of recordOffsets(scan, bytes)) {
    const start = offset + RECORD_HEADER_BYTES;
    clicks.push(decodeClick(bytes.subarray(start, start + bytes.readUInt32LE(offset))));
  }
  return {
    journalId: scan.journalId,
    segment: scan.segment,
    clicks,
    whole: isWhole(scan, bytes),
  };
}

function decodeClick(payload: Buffer): Click {
  const flags = payload.readUInt8(40);
  const texts = readTexts(payload, 41);
  const kind = targetKindOf(flags);
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
    ...(kind === undefined
      ? {}
      : { target: { kind, id: readUuid(payload, payload.length - ID_BYTES) } }),
  };
}

/**
 * A click as it lies in a segment. Its ids and texts are decoded as Latin-1, one character for each byte: that is cheap, and
 * different texts stay different. {@link decodeText} returns the text itself.
 */
export type EncodedClick = Pick<Click, "time" | "mode" | "prefetch" | "privacy"> & {
  /** The UUIDs of the link and its account, {@link ID_BYTES} each. */
  ids: string;
  address: string;
  host: string;
  userAgent: string;
  referrer: string;
  language: string;
  query: string;
  /** `rule:` or `arm:` and the id as 32 hexadecimal digits; "" for the link's own destination. */
  target: string;
};

/** Bytes of a record's payload before its texts. */
const FIXED_BYTES = 8 + 2 * ID_BYTES + 1;

/** Reads a valid record of a segment at its offset; undefined when it is too short for a click. */
export function readEncodedClick(segment: Buffer, offset: number): EncodedClick | undefined {
  const start = offset + RECORD_HEADER_BYTES;
  const end = start + segment.readUInt32LE(offset);
  if (end - start < FIXED_BYTES) return undefined;
  const flags = segment.readUInt8(start + 40);
  const kind = targetKindOf(flags);
  let textStart = start + FIXED_BYTES;
  const nextText = (): string => {
    if (textStart + 2 > end) return "";
    const from = textStart + 2;
    textStart = from + segment.readUInt16LE(textStart);
    return textStart === from ? "" : segment.toString("latin1", from, Math.min(textStart, end));
  };
  return {
    time: segment.readDoubleLE(start),
    ids: segment.toString("latin1", start + 8, start + 8 + 2 * ID_BYTES),
    mode: (flags & FLAG_TEST) === 0 ? "live" : "test",
    prefetch: (flags & FLAG_PREFETCH) !== 0,
    privacy: (flags & FLAG_PRIVACY) !== 0,
    address: nextText(),
    host: nextText(),
    userAgent: nextText(),
    referrer: nextText(),
    language: nextText(),
    query: nextText(),
    target: kind === undefined ? "" : `${kind}:${segment.toString("hex", end - ID_BYTES, end)}`,
  };
}

/** Decodes a text of an {@link EncodedClick}, whose bytes are UTF-8. */
export const decodeText = (latin1: string): string =>
  ASCII.test(latin1) ? latin1 : Buffer.from(latin1, "latin1").toString("utf8");

// oxlint-disable-next-line no-control-regex -- ASCII includes control characters.
const ASCII = /^[\x00-\x7f]*$/;

/** Where the record at `offset` ends by its length; undefined when that is none. */
function payloadEnd(bytes: Buffer, offset: number): number | undefined {
  if (bytes.length - offset < RECORD_HEADER_BYTES) return undefined;
  const length = bytes.readUInt32LE(offset);
  const end = offset + RECORD_HEADER_BYTES + length;
  return length === 0 || length > RECORD_BYTES_MAX || end > bytes.length ? undefined : end;
}

const hasValidChecksum = (bytes: Buffer, offset: number, end: number): boolean =>
  Bun.hash.crc32(bytes.subarray(offset + RECORD_HEADER_BYTES, end)) ===
  bytes.readUInt32LE(offset + 4);

/**
 * Writes a text's length and UTF-8 bytes; `Buffer.write` truncates to `max` without splitting a character. For short
 * ASCII texts, such as addresses and hosts, a loop is faster than that call.
 */
function writeText(target: Buffer, offset: number, text: string, max: number): number {
  if (text.length <= ASCII_COPY_LENGTH_MAX) {
    let end = offset + 2;
    let bits = 0;
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      bits |= code;
      target[end++] = code;
    }
    if (bits < 128) {
      target[offset] = text.length;
      target[offset + 1] = 0;
      return end;
    }
  }
  const length = target.write(text, offset + 2, max, "utf8");
  target.writeUInt16LE(length, offset);
  return offset + 2 + length;
}

/** Like {@link writeText} for UTF-8 bytes; also truncates without splitting a character. */
function writeRange(
  target: Buffer,
  offset: number,
  bytes: Buffer,
  { start, end }: ByteRange,
  max: number,
): number {
  const length = truncatedLength(bytes, start, end, max);
  target.writeUInt16LE(length, offset);
  if (length > 0) bytes.copy(target, offset + 2, start, start + length);
  return offset + 2 + length;
}

function truncatedLength(bytes: Buffer, start: number, end: number, max: number): number {
  let length = end - start;
  if (length > max) {
    length = max;
    while (length > 0 && ((bytes[start + length] ?? 0) & 0xc0) === 0x80) length--;
  }
  return length;
}

/** Where the part of a header value ends that a click keeps. */
export const clickTextEnd = (
  text: "userAgent" | "referrer",
  bytes: Buffer,
  { start, end }: ByteRange,
): number => start + truncatedLength(bytes, start, end, TEXT_BYTES_MAX[text]);

function readTexts(payload: Buffer, start: number): string[] {
  const texts: string[] = [];
  for (let offset = start; offset + 2 <= payload.length;) {
    const length = payload.readUInt16LE(offset);
    texts.push(payload.toString("utf8", offset + 2, offset + 2 + length));
    offset += 2 + length;
  }
  return texts;
}

/** Writes a UUID as {@link ID_BYTES} bytes. */
export function writeUuid(target: Buffer, offset: number, uuid: Uuid): void {
  target.write(uuid.replaceAll("-", ""), offset, ID_BYTES, "hex");
}

/** Reads a UUID that {@link writeUuid} wrote. */
export const readUuid = (bytes: Buffer, offset: number): Uuid =>
  formatUuid(bytes.toString("hex", offset, offset + ID_BYTES));

/** Formats 32 hexadecimal digits as a UUID. */
export const formatUuid = (hex: string): Uuid =>
  `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
