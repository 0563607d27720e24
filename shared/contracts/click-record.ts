/**
 * The record: one click, encoded. Redirectors encode a click within its redirect; the worker
 * decodes it.
 *
 * Format, little-endian: u32 payload length, u32 CRC-32 of the payload, payload.
 *   payload: f64 time, 16-byte link UUID, 16-byte account UUID, u8 flags, six texts
 *   (`click-text.ts`), 16-byte target UUID
 *   if the flags say that there is a target
 */
import { type ByteRange, type ByteSlice, emptySlice, toSlice } from "../bytes.ts";
import { formatUuid, ID_BYTES, readUuid, type Uuid, writeUuid } from "../ids.ts";
import {
  CLICK_TEXT_BYTES_MAX,
  decodeText,
  truncatedLength,
  writeText,
  writeTextBytes,
} from "./click-text.ts";
import type { Mode } from "./link-record.ts";

const RECORD_HEADER_BYTES = 8;

/** Bytes of a payload before its texts. */
const FIXED_BYTES = 8 + 2 * ID_BYTES + 1;

/** Offset of a payload's flags: the byte before its texts. */
const FLAGS_AT = FIXED_BYTES - 1;

const TEXTS = 6;

/** Maximum bytes of one record: its header, the fixed fields, and six texts with their lengths. */
export const RECORD_BYTES_MAX =
  RECORD_HEADER_BYTES +
  FIXED_BYTES +
  TEXTS * 2 +
  Object.values(CLICK_TEXT_BYTES_MAX).reduce((sum, bytes) => sum + bytes, 0);

export type Click = {
  /** Unix milliseconds of the response. */
  time: number;
  linkId: Uuid;
  accountId: Uuid;
  mode: Mode;
  /** The request announced itself as a fetch ahead of a person, e.g. by `Sec-Purpose`. */
  prefetch: boolean;
  /** The request was a load within a page, by `Sec-Fetch-Dest`. */
  embedded: boolean;
  /** The request's query had the mark of QR codes. */
  scanned: boolean;
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
  /**
   * The UTM parameters of the destination, and after them the short URL's own query, without `?`:
   * of parameters with one name the first counts, as the destination's own have precedence.
   */
  query: string;
  /** The rule or arm whose destination it got; undefined for the link's own destination. */
  target?: ClickTarget | undefined;
  /** A visit of another product: its query is what is known of it (`imported-visit.ts`). */
  imported?: boolean | undefined;
};

/** A rule of a link or an arm of its split. */
export type ClickTarget = { kind: "rule" | "arm"; id: Uuid };

const FLAG_TEST = 1;
const FLAG_PREFETCH = 2;
const FLAG_PRIVACY = 4;
/** The id of a rule or of an arm follows the texts; versions without targets ignore it. */
const FLAG_RULE = 8;
const FLAG_ARM = 16;
const FLAG_EMBEDDED = 32;
const FLAG_SCANNED = 64;
const FLAG_IMPORTED = 128;

/**
 * A click at the time of its request. Header values are ranges of the request's bytes, not yet
 * decoded.
 */
export type RequestClick = {
  time: number;
  /** The UUIDs of the link and its account, {@link ID_BYTES} each. */
  ids: ByteSlice;
  mode: Mode;
  prefetch: boolean;
  embedded: boolean;
  scanned: boolean;
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
  /** The UTM parameters of the destination as a query. */
  destinationUtm?: Buffer | undefined;
  imported?: boolean | undefined;
};

/**
 * Encodes a click as one record into `target` at `start`, where {@link RECORD_BYTES_MAX} bytes must
 * be free. Returns the record's end. It runs within a redirect, so it allocates almost nothing.
 */
export function encodeClick(target: Buffer, start: number, click: RequestClick): number {
  const { bytes, ids } = click;
  let offset = start + RECORD_HEADER_BYTES;
  target.writeDoubleLE(click.time, offset);
  ids.bytes.copy(target, offset + 8, ids.start, ids.end);
  target[offset + FLAGS_AT] = flagsOf(click);
  offset += FIXED_BYTES;
  offset = writeText(target, offset, click.address, CLICK_TEXT_BYTES_MAX.address);
  offset = writeText(target, offset, click.host, CLICK_TEXT_BYTES_MAX.host);
  offset = writeTextBytes(target, offset, bytes, click.userAgent, CLICK_TEXT_BYTES_MAX.userAgent);
  offset = writeTextBytes(target, offset, bytes, click.referrer, CLICK_TEXT_BYTES_MAX.referrer);
  offset = writeTextBytes(target, offset, bytes, click.language, CLICK_TEXT_BYTES_MAX.language);
  // The target's bytes come off the query, so that no record is longer than one without a target.
  const idBytes = click.target === undefined ? 0 : ID_BYTES;
  offset =
    click.destinationUtm === undefined
      ? writeTextBytes(target, offset, bytes, click.query, CLICK_TEXT_BYTES_MAX.query - idBytes)
      : writeQueries(target, offset, click, start + RECORD_BYTES_MAX - idBytes);
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
 * Writes the UTM parameters of the destination and the short URL's query as one text, up to `end`.
 */
function writeQueries(
  target: Buffer,
  at: number,
  { bytes, query, destinationUtm = EMPTY_BYTES }: RequestClick,
  end: number,
): number {
  const start = at + 2;
  const own = Math.min(destinationUtm.length, end - start);
  let offset = start + destinationUtm.copy(target, start, 0, own);
  if (query.start < query.end && offset < end) {
    target[offset++] = AMPERSAND;
    const length = truncatedLength(
      bytes,
      query,
      Math.min(CLICK_TEXT_BYTES_MAX.query, end - offset),
    );
    offset += bytes.copy(target, offset, query.start, query.start + length);
  }
  target.writeUInt16LE(offset - start, at);
  return offset;
}

/** Converts a decoded click into one at the time of its request. */
export function toRequestClick(click: Click): RequestClick {
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

/** Creates an empty click whose fields the caller sets; the hot path reuses it. */
export const newRequestClick = (): RequestClick => ({
  time: 0,
  ids: emptySlice(),
  mode: "live",
  prefetch: false,
  embedded: false,
  scanned: false,
  privacy: false,
  address: "",
  host: "",
  bytes: Buffer.alloc(0),
  userAgent: EMPTY,
  referrer: EMPTY,
  language: EMPTY,
  query: EMPTY,
  target: undefined,
  destinationUtm: undefined,
  imported: false,
});

const AMPERSAND = 0x26;

const EMPTY: ByteRange = { start: 0, end: 0 };
const EMPTY_BYTES = Buffer.alloc(0);

const flagsOf = (click: RequestClick): number =>
  (click.mode === "test" ? FLAG_TEST : 0) |
  (click.prefetch ? FLAG_PREFETCH : 0) |
  (click.embedded ? FLAG_EMBEDDED : 0) |
  (click.scanned ? FLAG_SCANNED : 0) |
  (click.privacy ? FLAG_PRIVACY : 0) |
  (click.imported === true ? FLAG_IMPORTED : 0) |
  (click.target === undefined ? 0 : click.target.kind === "rule" ? FLAG_RULE : FLAG_ARM);

/** The kind of a click's target; undefined without one. */
const targetKindOf = (flags: number): ClickTarget["kind"] | undefined => {
  if ((flags & FLAG_RULE) !== 0) return "rule";
  return (flags & FLAG_ARM) === 0 ? undefined : "arm";
};

/** A record in a segment; not valid when its payload or its checksum is damaged. */
export type RecordRange = ByteRange & { isValid: boolean };

/**
 * Finds the record at `start`; undefined when no record can be there. Where it ends is said twice,
 * by its length and by its texts, and the checksum tells which is right: so no damaged length
 * hides the records behind it.
 */
export function findRecord(bytes: Buffer, start: number): RecordRange | undefined {
  if (bytes.length - start < RECORD_HEADER_BYTES) return undefined;
  const stated = start + RECORD_HEADER_BYTES + bytes.readUInt32LE(start);
  const isPossible =
    stated > start + RECORD_HEADER_BYTES &&
    stated <= Math.min(bytes.length, start + RECORD_HEADER_BYTES + RECORD_BYTES_MAX);
  if (isPossible && hasValidChecksum(bytes, start, stated))
    return { start, end: stated, isValid: true };
  const measured = endOfTexts(bytes, start);
  if (measured !== undefined && hasValidChecksum(bytes, start, measured))
    return { start, end: measured, isValid: true };
  return isPossible ? { start, end: stated, isValid: false } : undefined;
}

/** Whether the length of a record is that of its range. */
export const hasLength = (bytes: Buffer, { start, end }: ByteRange): boolean =>
  bytes.readUInt32LE(start) === end - start - RECORD_HEADER_BYTES;

/** The end of the record at `start` by its texts; undefined when it exceeds the bytes. */
function endOfTexts(bytes: Buffer, start: number): number | undefined {
  const payload = start + RECORD_HEADER_BYTES;
  let end = payload + FIXED_BYTES;
  for (let text = 0; text < TEXTS; text++) {
    if (end + 2 > bytes.length) return undefined;
    end += 2 + bytes.readUInt16LE(end);
  }
  if (targetKindOf(bytes.readUInt8(payload + FLAGS_AT)) !== undefined) end += ID_BYTES;
  return end <= bytes.length ? end : undefined;
}

/** Whether the checksum of the record between `start` and `end` is that of its payload. */
const hasValidChecksum = (bytes: Buffer, start: number, end: number): boolean =>
  Bun.hash.crc32(bytes.subarray(start + RECORD_HEADER_BYTES, end)) ===
  bytes.readUInt32LE(start + 4);

/**
 * A click whose ids and texts are decoded as Latin-1, one character for each byte: that is cheap,
 * and different texts stay different. {@link decodeText} returns the text itself.
 */
export type EncodedClick = {
  time: Click["time"];
  mode: Click["mode"];
  prefetch: Click["prefetch"];
  embedded: Click["embedded"];
  scanned: Click["scanned"];
  privacy: Click["privacy"];
  imported: boolean;
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

/** Reads a valid record of a segment; undefined when it is too short for a click. */
export function readEncodedClick(segment: Buffer, record: ByteRange): EncodedClick | undefined {
  const start = record.start + RECORD_HEADER_BYTES;
  const { end } = record;
  if (end - start < FIXED_BYTES) return undefined;
  const flags = segment.readUInt8(start + FLAGS_AT);
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
    embedded: (flags & FLAG_EMBEDDED) !== 0,
    scanned: (flags & FLAG_SCANNED) !== 0,
    privacy: (flags & FLAG_PRIVACY) !== 0,
    imported: (flags & FLAG_IMPORTED) !== 0,
    address: nextText(),
    host: nextText(),
    userAgent: nextText(),
    referrer: nextText(),
    language: nextText(),
    query: nextText(),
    target: kind === undefined ? "" : `${kind}:${segment.toString("hex", end - ID_BYTES, end)}`,
  };
}

/** Decodes a valid record of a segment; undefined when it is too short for a click. */
export function decodeClick(segment: Buffer, record: ByteRange): Click | undefined {
  const encoded = readEncodedClick(segment, record);
  if (encoded === undefined) return undefined;
  const { time, mode, prefetch, embedded, scanned, privacy, target } = encoded;
  const ids = Buffer.from(encoded.ids, "latin1");
  return {
    time,
    linkId: readUuid(ids, 0),
    accountId: readUuid(ids, ID_BYTES),
    mode,
    prefetch,
    embedded,
    scanned,
    privacy,
    address: decodeText(encoded.address),
    host: decodeText(encoded.host),
    userAgent: decodeText(encoded.userAgent),
    referrer: decodeText(encoded.referrer),
    language: decodeText(encoded.language),
    query: decodeText(encoded.query),
    ...(encoded.imported ? { imported: true } : {}),
    ...(target === "" ? {} : { target: decodeTarget(target) }),
  };
}

function decodeTarget(target: string): ClickTarget {
  const colon = target.indexOf(":");
  const kind = target.slice(0, colon) === "rule" ? "rule" : "arm";
  return { kind, id: formatUuid(target.slice(colon + 1)) };
}
