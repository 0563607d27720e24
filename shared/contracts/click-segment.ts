/**
 * The segment: a sequence of clicks. A redirector seals it and never changes it again. It is the
 * unit of everything after the redirect: one journal file and one JetStream message, whose clicks
 * are stored together, all under one id, so that each stage recognises duplicates.
 *
 * Format, little-endian: a 32-byte header, then records (`click-record.ts`).
 *   header: "SHCP", u8 version, 3 zero bytes, 16-byte journal UUID, u32 segment number,
 *   4 zero bytes
 * The segment ends before a record that a crash has torn. One that a disk has damaged is skipped.
 */
import type { ByteRange } from "../bytes.ts";
import { readUuid, type Uuid, writeUuid } from "../ids.ts";
import { type Click, decodeClick, findRecord, hasLength } from "./click-record.ts";

export const SEGMENT_HEADER_BYTES = 32;

/**
 * Maximum clicks of a segment. A segment is sealed by its clicks, its bytes or its age, whichever
 * limit it reaches first.
 */
export const SEGMENT_CLICKS_MAX = 2_000;

/** Maximum bytes of a segment, header included; below the 1 MiB that NATS accepts by default. */
export const SEGMENT_BYTES_MAX = 768 * 1024;

/**
 * How long a journal keeps a segment that JetStream has acknowledged: longer than the interval at
 * which NATS syncs to disk by default (`sync_interval`, 2 minutes).
 */
export const ACKED_RETENTION_MS = 150_000;

const MAGIC = 0x50434853; // "SHCP"
const VERSION = 1;

export type SegmentId = { journalId: Uuid; segment: number };

export type ClickSegment = SegmentId & {
  clicks: Click[];
  /**
   * False when there are bytes that are not a valid record: a crash has torn the tail, or a disk
   * has damaged a part.
   */
  whole: boolean;
};

/** The segment's id as text, by which JetStream recognises duplicates (`Nats-Msg-Id`). */
export const formatSegmentId = ({ journalId, segment }: SegmentId): string =>
  `${journalId}:${segment}`;

export function encodeSegmentHeader({ journalId, segment }: SegmentId): Buffer {
  const header = Buffer.alloc(SEGMENT_HEADER_BYTES);
  header.writeUInt32LE(MAGIC, 0);
  header.writeUInt8(VERSION, 4);
  writeUuid(header, 8, journalId);
  header.writeUInt32LE(segment, 24);
  return header;
}

/** The result of a scan: the segment's id, its valid records, and the end of the last one. */
type SegmentScan = SegmentId & {
  records: readonly ByteRange[];
  end: number;
  /** Whether all bytes are valid records. */
  whole: boolean;
};

/** Verifies the records of a segment; undefined when the bytes are not a segment. */
export function scanSegment(bytes: Buffer): SegmentScan | undefined {
  const id = readSegmentId(bytes);
  if (id === undefined) return undefined;
  const records: ByteRange[] = [];
  let whole = true;
  let offset = SEGMENT_HEADER_BYTES;
  for (;;) {
    const record = findRecord(bytes, offset);
    if (record === undefined) break;
    if (record.isValid) records.push(record);
    if (!record.isValid || !hasLength(bytes, record)) whole = false;
    offset = record.end;
  }
  const end = records.at(-1)?.end ?? SEGMENT_HEADER_BYTES;
  return { ...id, records, end, whole: whole && end === bytes.length };
}

/**
 * Reads the id from a header without checking the records; undefined when the bytes do not begin
 * with a header.
 */
export function readSegmentId(bytes: Buffer): SegmentId | undefined {
  if (bytes.length < SEGMENT_HEADER_BYTES) return undefined;
  if (bytes.readUInt32LE(0) !== MAGIC || bytes.readUInt8(4) !== VERSION) return undefined;
  return { journalId: readUuid(bytes, 8), segment: bytes.readUInt32LE(24) };
}

/** Why bytes are no segment to this version, for operators. */
export const whyNoSegment = (bytes: Buffer): string =>
  bytes.length >= SEGMENT_HEADER_BYTES &&
  bytes.readUInt32LE(0) === MAGIC &&
  bytes.readUInt8(4) !== VERSION
    ? `a segment of version ${bytes.readUInt8(4)}; this version of Shorthop reads ${VERSION}`
    : "not a segment of clicks";

/** Decodes a segment; undefined when the bytes are not a segment of a supported version. */
export function decodeSegment(bytes: Buffer): ClickSegment | undefined {
  const scan = scanSegment(bytes);
  if (scan === undefined) return undefined;
  let { whole } = scan;
  const clicks: Click[] = [];
  for (const record of scan.records) {
    const click = decodeClick(bytes, record);
    if (click === undefined) whole = false;
    else clicks.push(click);
  }
  return { journalId: scan.journalId, segment: scan.segment, clicks, whole };
}
