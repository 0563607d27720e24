/** A request's head as it is read, and what can come of reading it. */

import type { Span } from "../../shared/bytes.ts";

/** A head as it was read. */
export type Head = {
  /** A copy, which the spans point into. */
  bytes: Buffer;
  /** How many of them are its own. */
  length: number;
  method: string;
  /** Path without query, e.g. `/abc`; of an absolute target the path within it. */
  path: Span;
  /** Query without `?`. */
  query: Span;
  /** The authority as it was sent: the target's where it has one, else the Host header's. */
  host: string;
  keepAlive: boolean;
  /** Bytes of the body. */
  contentLength: number;
  userAgent: Span;
  referrer: Span;
  language: Span;
  /** All of `X-Forwarded-For`, in the order it came in; empty for none. */
  forwardedFor: string;
  cookie: Span;
  contentType: Span;
  /** `Sec-Purpose` or `Purpose` speaks of a prefetch. */
  prefetch: boolean;
  /** `Sec-GPC: 1` or `DNT: 1`. */
  privacy: boolean;
};

/**
 * What came of reading: a whole `head`; `partial`, when more bytes are needed; `refused` with the status
 * to answer, after which the connection must be closed.
 */
export type Reading =
  { kind: "head" } | { kind: "partial" } | { kind: "refused"; status: RefusedStatus };

export type RefusedStatus = 400 | 417 | 431 | 501 | 505;

export const WHOLE: Reading = Object.freeze({ kind: "head" });
export const PARTIAL: Reading = Object.freeze({ kind: "partial" });
const refusals = new Map<RefusedStatus, Reading>();

export function refuse(status: RefusedStatus): Reading {
  let refusal = refusals.get(status);
  if (refusal === undefined) refusals.set(status, (refusal = { kind: "refused", status }));
  return refusal;
}

/** Makes a head to read into, over and over, of `bytes`. */
export const newHead = (bytes: Buffer): Head => ({
  bytes,
  length: 0,
  method: "",
  path: { start: 0, end: 0 },
  query: { start: 0, end: 0 },
  host: "",
  keepAlive: true,
  contentLength: 0,
  userAgent: { start: 0, end: 0 },
  referrer: { start: 0, end: 0 },
  language: { start: 0, end: 0 },
  forwardedFor: "",
  cookie: { start: 0, end: 0 },
  contentType: { start: 0, end: 0 },
  prefetch: false,
  privacy: false,
});

/** Forgets what an earlier request left. */
export function clearHead(head: Head): void {
  head.host = "";
  head.contentLength = 0;
  head.forwardedFor = "";
  head.prefetch = false;
  head.privacy = false;
  setSpan(head.userAgent, 0, 0);
  setSpan(head.referrer, 0, 0);
  setSpan(head.language, 0, 0);
  setSpan(head.cookie, 0, 0);
  setSpan(head.contentType, 0, 0);
}

/** Sets a span. */
export function setSpan(span: Span, start: number, end: number): void {
  span.start = start;
  span.end = end;
}
