/** The parsed head of a request, and the results of parsing. */
import type { ByteRange } from "../../shared/bytes.ts";

/** A parsed head. */
export type RequestHead = {
  /** A copy of the head, which the ranges refer to. */
  bytes: Buffer;
  /** Bytes of the head; `bytes` may be longer. */
  length: number;
  method: string;
  /** Path without query, e.g. `/abc`; also for an absolute target. */
  path: ByteRange;
  /** Query without `?`. */
  query: ByteRange;
  /** The authority as it was sent: that of an absolute target, otherwise the Host header's. */
  host: string;
  keepAlive: boolean;
  /** Length of the body in bytes; 0 for a chunked one. */
  contentLength: number;
  /** Whether the body is chunked. */
  chunked: boolean;
  /** Whether the client waits for a response with status 100 before it sends the body. */
  expectsContinue: boolean;
  userAgent: ByteRange;
  referrer: ByteRange;
  language: ByteRange;
  /** All `X-Forwarded-For` fields, joined in order; empty for none. */
  forwardedFor: string;
  cookie: ByteRange;
  contentType: ByteRange;
  /** The request announces itself as a fetch ahead of a person, e.g. by `Sec-Purpose`. */
  prefetch: boolean;
  /** The request is a load within a page, by `Sec-Fetch-Dest`. */
  embedded: boolean;
  /** `Sec-GPC: 1` or `DNT: 1`. */
  privacy: boolean;
};

/**
 * The result of parsing: `complete`; `partial` when more bytes are needed; `rejected` with the
 * status of the response, after which the connection must be closed.
 */
export type ParseResult =
  { kind: "complete" } | { kind: "partial" } | { kind: "rejected"; status: RejectionStatus };

export type RejectionStatus = 400 | 413 | 417 | 431 | 501 | 505;

export const COMPLETE: ParseResult = Object.freeze({ kind: "complete" });
export const PARTIAL: ParseResult = Object.freeze({ kind: "partial" });
const rejections = new Map<RejectionStatus, ParseResult>();

/** Returns the result that rejects a request with `status`. */
export function reject(status: RejectionStatus): ParseResult {
  let rejection = rejections.get(status);
  if (rejection === undefined) rejections.set(status, (rejection = { kind: "rejected", status }));
  return rejection;
}

/** Creates a head whose ranges refer to `bytes`; the parser reuses it for all requests. */
export const createHead = (bytes: Buffer): RequestHead => ({
  bytes,
  length: 0,
  method: "",
  path: { start: 0, end: 0 },
  query: { start: 0, end: 0 },
  host: "",
  keepAlive: true,
  contentLength: 0,
  chunked: false,
  expectsContinue: false,
  userAgent: { start: 0, end: 0 },
  referrer: { start: 0, end: 0 },
  language: { start: 0, end: 0 },
  forwardedFor: "",
  cookie: { start: 0, end: 0 },
  contentType: { start: 0, end: 0 },
  prefetch: false,
  embedded: false,
  privacy: false,
});

/** Clears the values of the previous request. */
export function clearHead(head: RequestHead): void {
  head.host = "";
  head.contentLength = 0;
  head.chunked = false;
  head.expectsContinue = false;
  head.forwardedFor = "";
  head.prefetch = false;
  head.embedded = false;
  head.privacy = false;
  setRange(head.userAgent, 0, 0);
  setRange(head.referrer, 0, 0);
  setRange(head.language, 0, 0);
  setRange(head.cookie, 0, 0);
  setRange(head.contentType, 0, 0);
}

export function setRange(range: ByteRange, start: number, end: number): void {
  range.start = start;
  range.end = end;
}
