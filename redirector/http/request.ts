/** A request: its parsed head, the results of parsing, and what the handler gets. */
import { type ByteRange, type ByteSlice, copySlice } from "../../shared/bytes.ts";
import { decodeLatin1 } from "./bytes.ts";
import type { RedirectorResponse } from "./response.ts";

/** A parsed head; the parser reuses one for all requests. */
export class RequestHead {
  /** A copy of the head, which the ranges refer to. */
  bytes: Buffer;
  /** Bytes of the head; `bytes` may be longer. */
  length = 0;
  method = "";
  /** Path without query, e.g. `/abc`; also for an absolute target. */
  path: ByteRange = { start: 0, end: 0 };
  /** Query without `?`. */
  query: ByteRange = { start: 0, end: 0 };
  /** The authority as it was sent: that of an absolute target, otherwise the Host header's. */
  host = "";
  keepAlive = true;
  /** Length of the body in bytes; 0 for a chunked one. */
  contentLength = 0;
  chunked = false;
  /** Whether the client waits for a response with status 100 before it sends the body. */
  expectsContinue = false;
  userAgent: ByteRange = { start: 0, end: 0 };
  referrer: ByteRange = { start: 0, end: 0 };
  language: ByteRange = { start: 0, end: 0 };
  /** All `X-Forwarded-For` fields, joined in order; empty for none. */
  forwardedFor = "";
  cookie: ByteRange = { start: 0, end: 0 };
  contentType: ByteRange = { start: 0, end: 0 };
  /** The request announces itself as a fetch ahead of a person, e.g. by `Sec-Purpose`. */
  prefetch = false;
  /** The request is a load within a page, by `Sec-Fetch-Dest`. */
  embedded = false;
  /** The query had the mark of QR codes, which is taken off. */
  scanned = false;
  /** `Sec-GPC: 1` or `DNT: 1`. */
  privacy = false;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }
}

/**
 * The result of parsing: `complete`; `partial` when more bytes are needed; `rejected` with the
 * status of the response, after which the connection must be closed.
 */
export type ParseResult =
  { kind: "complete" } | { kind: "partial" } | { kind: "rejected"; status: RejectionStatus };

export type RejectionStatus = 400 | 413 | 417 | 431 | 501 | 505;

export const COMPLETE: ParseResult = Object.freeze({ kind: "complete" });
export const PARTIAL: ParseResult = Object.freeze({ kind: "partial" });

/** Returns the result that rejects a request with `status`. */
export const reject = (status: RejectionStatus): ParseResult => ({ kind: "rejected", status });

/** Clears the values of the previous request. */
export function clearHead(head: RequestHead): void {
  head.host = "";
  head.contentLength = 0;
  head.chunked = false;
  head.expectsContinue = false;
  head.forwardedFor = "";
  head.prefetch = false;
  head.embedded = false;
  head.scanned = false;
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

/** Its bytes are reused as soon as the handler has returned: see {@link copyRequest}. */
export type IncomingRequest = {
  head: RequestHead;
  /** The posted form; empty for other requests. */
  body: ByteSlice;
  /** Time of arrival, in Unix milliseconds. */
  now: number;
  /** The normalized IP address of the connection's peer. */
  peer: string;
};

/** Handles the requests of the server. */
export interface RequestHandler {
  readonly formBytesMax: number;
  /** Responds, if possible at once; then the response is valid until the next request. */
  handle(incoming: IncomingRequest): RedirectorResponse | Promise<RedirectorResponse>;
  /** Writes the clicks of all requests that were handled; their responses are sent after that. */
  commit(): void;
}

type Bytes = { bytes: Buffer };

/** Decodes a part of a head or body as UTF-8. */
export const toUtf8 = ({ bytes }: Bytes, { start, end }: ByteRange): string =>
  bytes.toString("utf8", start, end);

/** Decodes a part of a head as Latin-1: each byte is one character. */
export const toLatin1 = ({ bytes }: Bytes, { start, end }: ByteRange): string =>
  decodeLatin1(bytes, start, end);

/** Returns a field of a posted form; undefined when the body is not a form or has no such field. */
export function readFormField({ head, body }: IncomingRequest, name: string): string | undefined {
  const type = toUtf8(head, head.contentType).split(";")[0]?.trim().toLowerCase();
  if (type !== "application/x-www-form-urlencoded") return undefined;
  return new URLSearchParams(toUtf8(body, body)).get(name) ?? undefined;
}

/** The request with another Referer header, in ASCII. */
export function withReferrer(incoming: IncomingRequest, referrer: string): IncomingRequest {
  const { head } = incoming;
  const bytes = Buffer.concat([head.bytes.subarray(0, head.length), Buffer.from(referrer)]);
  const range = { start: head.length, end: bytes.length };
  const changes = { bytes, length: bytes.length, referrer: range };
  return { ...incoming, head: Object.assign(new RequestHead(bytes), head, changes) };
}

/** Copies a request, so that it stays unchanged across an `await`. */
export function copyRequest(incoming: IncomingRequest): IncomingRequest {
  const { head, body } = incoming;
  const bytes = Buffer.from(head.bytes.subarray(0, head.length));
  const copies = {
    bytes,
    path: { ...head.path },
    query: { ...head.query },
    userAgent: { ...head.userAgent },
    referrer: { ...head.referrer },
    language: { ...head.language },
    cookie: { ...head.cookie },
    contentType: { ...head.contentType },
  };
  return {
    ...incoming,
    body: copySlice(body),
    head: Object.assign(new RequestHead(bytes), head, copies),
  };
}

const ESCAPE = /%([0-9A-Fa-f]{2})?/g;

/** Characters that mean the same with and without an escape (RFC 3986 §2.3). */
const UNRESERVED = /^[A-Za-z0-9._~-]$/;

/**
 * Normalizes the path of a request that matches no cached link byte by byte: decodes the escapes of
 * unreserved characters (RFC 3986 §6.2.2.2) and drops one trailing slash. Returns undefined for a
 * malformed one: an incomplete escape, an escaped NUL, or a `..`, which clients resolve before they
 * send a path (RFC 3986 §5.2.4).
 */
export function normalizePath(path: string): string | undefined {
  let malformed = false;
  const decoded = path.replaceAll(ESCAPE, (escape, hex: string | undefined) => {
    malformed ||= hex === undefined || hex === "00";
    const character = String.fromCharCode(Number.parseInt(hex ?? "", 16));
    return UNRESERVED.test(character) ? character : escape;
  });
  if (malformed || decoded.split("/").includes("..")) return undefined;
  return decoded.length > 1 && decoded.endsWith("/") ? decoded.slice(0, -1) : decoded;
}
