/**
 * Reads the head of an HTTP/1 request, strictly by RFC 9112: what is ambiguous is refused, never
 * guessed, because two readers of one request who disagree are how requests are smuggled. One pass
 * over the bytes, and nothing allocated but the few texts that are asked for.
 */
import { CR, LF } from "./bytes.ts";
import { newProgress, type Progress, readField } from "./fields.ts";
import { clearHead, type Head, PARTIAL, type Reading, refuse } from "./reading.ts";
import { readRequestLine } from "./request-line.ts";

/** The most bytes of a head. */
export const HEAD_BYTES_MAX = 16 * 1024;

const FIELDS_MAX = 100;

/** Reads the head that begins at `from` into `head`, which holds nothing of use unless a head was read. */
export function readHead(bytes: Buffer, from: number, head: Head): Reading {
  clearHead(head);
  // An empty line before a request is ignored (RFC 9112 §2.2).
  if (bytes[from] === CR && from + 1 === bytes.length) return PARTIAL;
  let at = bytes[from] === CR && bytes[from + 1] === LF ? from + 2 : from;
  const limit = Math.min(bytes.length, from + HEAD_BYTES_MAX);
  const lineEnd = readRequestLine(bytes, at, limit, head);
  if (typeof lineEnd !== "number") return short(lineEnd, bytes, from);
  at = lineEnd;
  const progress = newProgress();
  for (let fields = 0; ; fields++) {
    if (at >= limit) return short(PARTIAL, bytes, from);
    if (bytes[at] === CR) {
      if (at + 1 >= limit) return short(PARTIAL, bytes, from);
      if (bytes[at + 1] !== LF) return refuse(400);
      return conclude(head, progress, at + 2);
    }
    if (fields === FIELDS_MAX) return refuse(431);
    const next = readField(bytes, at, limit, head, progress);
    if (typeof next !== "number") return short(next, bytes, from);
    at = next;
  }
}

/** More bytes would help, unless there are too many already. */
function short(reading: Reading, bytes: Buffer, from: number): Reading {
  return reading.kind === "partial" && bytes.length - from >= HEAD_BYTES_MAX
    ? refuse(431)
    : reading;
}

/** Judges the head as a whole (RFC 9112 §3.2, §6). */
function conclude(head: Head, progress: Progress, end: number): Reading {
  const { hosts, lengths, transferEncoding } = progress;
  const persistent = head.keepAlive;
  if (hosts === 0 && persistent) return refuse(400);
  if (lengths > 1 || (transferEncoding && lengths > 0)) return refuse(400);
  if (transferEncoding) return refuse(persistent ? 501 : 400);
  if (progress.expect) return refuse(417);
  // Nothing but a posted form has a body here.
  if (head.contentLength > 0 && head.method !== "POST") return refuse(400);
  head.keepAlive = persistent ? !progress.close : progress.keepAlive && !progress.close;
  return { kind: "head", end };
}
