/** Encodes decoded clicks as redirectors do, for tests of what comes after. */
import {
  type Click,
  encodeRawClick,
  type RawClick,
  RECORD_BYTES_MAX,
  toRawClick,
} from "../../shared/contracts/click-record.ts";
import { encodeSegmentHeader, type SegmentId } from "../../shared/contracts/click-segment.ts";

/** Encodes one click as a record. */
export function encodeClick(click: RawClick): Buffer {
  const record = Buffer.alloc(RECORD_BYTES_MAX);
  return record.subarray(0, encodeRawClick(record, 0, click));
}

/** Encodes a segment of these clicks. */
export const encodeSegment = (id: SegmentId, clicks: readonly Click[]): Buffer =>
  Buffer.concat([
    encodeSegmentHeader(id),
    ...clicks.map((click) => encodeClick(toRawClick(click))),
  ]);
