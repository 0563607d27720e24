/**
 * Parses the head of an HTTP/1 request, strictly by RFC 9112. Ambiguous requests are rejected,
 * never interpreted: request smuggling needs two parsers that disagree. Takes one pass over the
 * bytes, and allocates only the few values that are needed as strings.
 */
import { CR, createScanBuffer, LF } from "./bytes.ts";
import { createFieldState, type FieldState, readField, resetFieldState } from "./header-fields.ts";
import {
  clearHead,
  COMPLETE,
  createHead,
  type ParseResult,
  PARTIAL,
  reject,
  type RequestHead,
} from "./request-head.ts";
import { readRequestLine } from "./request-line.ts";

/** Maximum bytes of a head. */
export const HEAD_BYTES_MAX = 16 * 1024;

const FIELDS_MAX = 100;

export type RequestHeadParser = {
  /** The head parsed last; valid only after a `complete` result, until the next call. */
  head: RequestHead;
  /** Parses the head that begins at `from`. */
  parse(bytes: Buffer, from: number): ParseResult;
};

/** Creates a parser, with memory for one head. */
export function createRequestHeadParser(): RequestHeadParser {
  const scan = createScanBuffer(HEAD_BYTES_MAX);
  const head = createHead(scan.bytes);
  const fieldState = createFieldState();

  function parse(bytes: Buffer, from: number): ParseResult {
    scan.limit = bytes.copy(scan.bytes, 0, from);
    clearHead(head);
    resetFieldState(fieldState);
    const result = parseScan();
    // A head that is incomplete at the limit is too long.
    return result === PARTIAL && scan.limit === HEAD_BYTES_MAX ? reject(431) : result;
  }

  function parseScan(): ParseResult {
    const { bytes, limit } = scan;
    // An empty line before a request is ignored (RFC 9112 §2.2).
    if (bytes[0] === CR && limit === 1) return PARTIAL;
    const start = bytes[0] === CR && bytes[1] === LF ? 2 : 0;
    let at = readRequestLine(scan, start, head);
    for (let fields = 0; typeof at === "number"; fields++) {
      if (at >= limit) return PARTIAL;
      if (bytes[at] === CR) {
        if (at + 1 >= limit) return PARTIAL;
        if (bytes[at + 1] !== LF) return reject(400);
        head.length = at + 2;
        return finishHead(head, fieldState);
      }
      if (fields === FIELDS_MAX) return reject(431);
      at = readField(scan, at, head, fieldState);
    }
    return at;
  }

  return { head, parse };
}

/** Checks the rules for the head as a whole (RFC 9112 §3.2, §6). */
function finishHead(head: RequestHead, fields: FieldState): ParseResult {
  const { hosts, lengths, transferEncoding, expect } = fields;
  // Set by the request line: whether the version is HTTP/1.1.
  const isHttp11 = head.keepAlive;
  if (hosts === 0 && isHttp11) return reject(400);
  if (lengths > 1) return reject(400);
  if (transferEncoding !== undefined) {
    if (lengths > 0 || !isHttp11) return reject(400);
    if (transferEncoding !== "chunked") return reject(501);
    head.chunked = true;
  }
  const hasBody = head.chunked || head.contentLength > 0;
  // Only a posted form may have a body.
  if (hasBody && head.method !== "POST") return reject(400);
  if (expect !== undefined && isHttp11) {
    if (expect !== "100-continue") return reject(417);
    head.expectsContinue = hasBody;
  }
  head.keepAlive = isHttp11 ? !fields.close : fields.keepAlive && !fields.close;
  return COMPLETE;
}
