/** Encodes decoded clicks as redirectors do, for tests of what comes after. */
import { toSlice } from "../../shared/bytes.ts";
import {
  type Click,
  encodeRawClick,
  type RawClick,
  RECORD_BYTES_MAX,
} from "../../shared/contracts/click-record.ts";
import { encodeSegmentHeader, type SegmentId } from "../../shared/contracts/click-segment.ts";
import { ID_BYTES, writeUuid } from "../../shared/ids.ts";

const EMPTY = { start: 0, end: 0 };

/** Converts a decoded click into one at the time of its request. */
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
