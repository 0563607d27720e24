/**
 * Reads the head of an HTTP/1 request, strictly by RFC 9112: what is ambiguous is refused, never
 * guessed, because two readers of one request who disagree are how requests are smuggled. One pass
 * over the bytes, and nothing allocated but the few texts that are asked for.
 */
import { CR, LF, newScan } from "./bytes.ts";
import { clearProgress, newProgress, type Progress, readField } from "./fields.ts";
import { clearHead, type Head, newHead, PARTIAL, type Reading, refuse, WHOLE } from "./reading.ts";
import { readRequestLine } from "./request-line.ts";

/** The most bytes of a head. */
export const HEAD_BYTES_MAX = 16 * 1024;

const FIELDS_MAX = 100;

export type HeadReader = {
  /** The head that was read last; it holds nothing of use unless it was read as a whole. */
  head: Head;
  /** Reads the head that begins at `from`. */
  read(bytes: Buffer, from: number): Reading;
};

/** A reader of heads, with room for one. */
export function createHeadReader(): HeadReader {
  const scan = newScan(HEAD_BYTES_MAX);
  const head = newHead(scan.bytes);
  const progress = newProgress();

  function read(bytes: Buffer, from: number): Reading {
    scan.limit = bytes.copy(scan.bytes, 0, from);
    clearHead(head);
    clearProgress(progress);
    const reading = readScan();
    // More bytes would help, unless there are too many already.
    return reading === PARTIAL && scan.limit === HEAD_BYTES_MAX ? refuse(431) : reading;
  }

  function readScan(): Reading {
    const { bytes, limit } = scan;
    // An empty line before a request is ignored (RFC 9112 §2.2).
    if (bytes[0] === CR && limit === 1) return PARTIAL;
    const start = bytes[0] === CR && bytes[1] === LF ? 2 : 0;
    let at = readRequestLine(scan, start, head);
    for (let fields = 0; typeof at === "number"; fields++) {
      if (at >= limit) return PARTIAL;
      if (bytes[at] === CR) {
        if (at + 1 >= limit) return PARTIAL;
        if (bytes[at + 1] !== LF) return refuse(400);
        head.length = at + 2;
        return conclude(head, progress);
      }
      if (fields === FIELDS_MAX) return refuse(431);
      at = readField(scan, at, head, progress);
    }
    return at;
  }

  return { head, read };
}

/** Judges the head as a whole (RFC 9112 §3.2, §6). */
function conclude(head: Head, progress: Progress): Reading {
  const { hosts, lengths, transferEncoding } = progress;
  const persistent = head.keepAlive;
  if (hosts === 0 && persistent) return refuse(400);
  if (lengths > 1 || (transferEncoding && lengths > 0)) return refuse(400);
  if (transferEncoding) return refuse(persistent ? 501 : 400);
  if (progress.expect) return refuse(417);
  // Nothing but a posted form has a body here.
  if (head.contentLength > 0 && head.method !== "POST") return refuse(400);
  head.keepAlive = persistent ? !progress.close : progress.keepAlive && !progress.close;
  return WHOLE;
}
