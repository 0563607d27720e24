/**
 * Reads the head of an HTTP/1 request, strictly by RFC 9112: what is ambiguous is refused, never
 * guessed, because two readers of one request who disagree are how requests are smuggled. One pass
 * over the bytes, and nothing allocated but the few texts that are asked for.
 */

/** A range of the bytes; empty when start and end are equal. */
export type Span = { start: number; end: number };

/** A head as it was read; the spans point into the bytes that were given. */
export type Head = {
  method: string;
  /** Path without query, e.g. `/abc`; of an absolute target the path within it. */
  path: string;
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
 * What came of reading: `end`, where the head ends, and the body begins; `partial`, when more bytes
 * are needed; `refused` with the status to answer, after which the connection must be closed.
 */
export type Reading =
  { kind: "head"; end: number } | { kind: "partial" } | { kind: "refused"; status: RefusedStatus };

export type RefusedStatus = 400 | 417 | 431 | 501 | 505;

/** The most bytes of a head. */
export const HEAD_BYTES_MAX = 16 * 1024;

const FIELDS_MAX = 100;
const METHOD_LENGTH_MAX = 16;

const CR = 13;
const LF = 10;
const SPACE = 32;
const TAB = 9;
const COLON = 58;
const QUESTION_MARK = 63;
const SLASH = 47;
const ZERO = 48;
const NINE = 57;

/** What a byte may be part of (RFC 9110 §5.5, §5.6.2; targets may hold raw UTF-8, as browsers send it). */
const TOKEN = 1;
const TARGET = 2;
const VALUE = 4;

const CLASSES = new Uint8Array(256);
for (let byte = 0; byte < 256; byte++) {
  const character = String.fromCharCode(byte);
  CLASSES[byte] =
    (/[!#$%&'*+.^_`|~0-9A-Za-z-]/.test(character) ? TOKEN : 0) |
    (byte > SPACE && byte !== 127 ? TARGET : 0) |
    (byte === TAB || (byte >= SPACE && byte !== 127) ? VALUE : 0);
}

const PARTIAL: Reading = Object.freeze({ kind: "partial" });
const refusals = new Map<RefusedStatus, Reading>();

function refuse(status: RefusedStatus): Reading {
  let refusal = refusals.get(status);
  if (refusal === undefined) refusals.set(status, (refusal = { kind: "refused", status }));
  return refusal;
}

/** Makes a head to read into, over and over. */
export const newHead = (): Head => ({
  method: "",
  path: "",
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

/** What is known only while a head is being read. */
type Progress = {
  hosts: number;
  lengths: number;
  transferEncoding: boolean;
  expect: boolean;
  close: boolean;
  keepAlive: boolean;
};

/** Reads the head that begins at `from` into `head`, which holds nothing of use unless a head was read. */
export function readHead(bytes: Buffer, from: number, head: Head): Reading {
  clear(head);
  // An empty line before a request is ignored (RFC 9112 §2.2).
  if (bytes[from] === CR && from + 1 === bytes.length) return PARTIAL;
  let at = bytes[from] === CR && bytes[from + 1] === LF ? from + 2 : from;
  const limit = Math.min(bytes.length, from + HEAD_BYTES_MAX);
  const lineEnd = readRequestLine(bytes, at, limit, head);
  if (typeof lineEnd !== "number") return short(lineEnd, bytes, from);
  at = lineEnd;
  const progress: Progress = {
    hosts: 0,
    lengths: 0,
    transferEncoding: false,
    expect: false,
    close: false,
    keepAlive: false,
  };
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

function readRequestLine(bytes: Buffer, from: number, limit: number, head: Head): number | Reading {
  let at = from;
  while (at < limit && isA(bytes, at, TOKEN)) at++;
  if (at - from > METHOD_LENGTH_MAX) return refuse(400);
  if (at >= limit) return PARTIAL;
  if (at === from || bytes[at] !== SPACE) return refuse(400);
  head.method = methodOf(bytes, from, at);

  const target = ++at;
  let query = -1;
  while (at < limit && isA(bytes, at, TARGET)) {
    if (query < 0 && bytes[at] === QUESTION_MARK) query = at;
    at++;
  }
  if (at >= limit) return PARTIAL;
  if (at === target || bytes[at] !== SPACE) return refuse(400);
  const pathEnd = query < 0 ? at : query;
  head.query.start = query < 0 ? at : query + 1;
  head.query.end = at;
  if (bytes[target] === SLASH) head.path = textOf(bytes, target, pathEnd);
  else if (!readOtherTarget(textOf(bytes, target, pathEnd), head)) return refuse(400);

  // "HTTP/1.x" and the end of the line
  if (at + 10 >= limit) {
    return VERSION_START.startsWith(textOf(bytes, at + 1, Math.min(at + 8, limit)))
      ? PARTIAL
      : refuse(400);
  }
  if (!isVersionLine(bytes, at + 1)) {
    return refuse(/^HTTP\/\d\.\d\r\n$/.test(textOf(bytes, at + 1, at + 11)) ? 505 : 400);
  }
  // Until the fields say otherwise.
  head.keepAlive = bytes[at + 8] !== ZERO;
  return at + 11;
}

const VERSION_START = "HTTP/1.";

/** "HTTP/1." and a digit, at the end of a line. */
function isVersionLine(bytes: Buffer, at: number): boolean {
  for (let i = 0; i < VERSION_START.length; i++) {
    if (bytes[at + i] !== VERSION_START.charCodeAt(i)) return false;
  }
  const minor = bytes[at + 7] ?? 0;
  return minor >= ZERO && minor <= NINE && bytes[at + 8] === CR && bytes[at + 9] === LF;
}

function methodOf(bytes: Buffer, start: number, end: number): string {
  if (
    end - start === 3 &&
    bytes[start] === 71 &&
    bytes[start + 1] === 69 &&
    bytes[start + 2] === 84
  )
    return "GET";
  return textOf(bytes, start, end);
}

/** Absolute form, and the forms of methods that are not taken here (RFC 9112 §3.2). */
function readOtherTarget(target: string, head: Head): boolean {
  const absolute = /^https?:\/\/([^/@]+)(\/.*)?$/i.exec(target);
  if (absolute !== null) {
    head.host = absolute[1] ?? "";
    head.path = absolute[2] ?? "/";
    return HOST_FORM.test(head.host);
  }
  head.path = target;
  return (target === "*" && head.method === "OPTIONS") || head.method === "CONNECT";
}

/** A registered name or an address, and a port (RFC 3986 §3.2.2, without what no host of ours has). */
const HOST_FORM = /^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{0,5})?$/;

/** Reads one field line and returns where the next begins. */
function readField(
  bytes: Buffer,
  from: number,
  limit: number,
  head: Head,
  progress: Progress,
): number | Reading {
  let at = from;
  while (at < limit && isA(bytes, at, TOKEN)) at++;
  if (at >= limit) return PARTIAL;
  // A line that begins with a blank, or has one before its colon, is where readers disagree.
  if (at === from || bytes[at] !== COLON) return refuse(400);
  const nameEnd = at++;
  while (at < limit && (bytes[at] === SPACE || bytes[at] === TAB)) at++;
  const start = at;
  while (at < limit && isA(bytes, at, VALUE)) at++;
  if (at + 1 >= limit) return at < limit && bytes[at] !== CR ? refuse(400) : PARTIAL;
  if (bytes[at] !== CR || bytes[at + 1] !== LF) return refuse(400);
  let end = at;
  while (end > start && (bytes[end - 1] === SPACE || bytes[end - 1] === TAB)) end--;
  const known = takeField(bytes, from, nameEnd, start, end, head, progress);
  return known ? at + 2 : refuse(400);
}

/** Takes in the fields that matter, told apart by length first; false when one must be refused. */
function takeField(
  bytes: Buffer,
  name: number,
  nameEnd: number,
  start: number,
  end: number,
  head: Head,
  progress: Progress,
): boolean {
  switch (nameEnd - name) {
    case 3:
      if (named(bytes, name, "dnt")) head.privacy ||= isOne(bytes, start, end);
      return true;
    case 4:
      if (!named(bytes, name, "host")) return true;
      if (++progress.hosts > 1) return false;
      // An absolute target's own authority counts (RFC 9112 §3.2.2); the field must be sound all the same.
      return takeHost(hostAt(bytes, start, end), head);
    case 6:
      if (named(bytes, name, "cookie")) set(head.cookie, start, end);
      else if (named(bytes, name, "expect")) progress.expect = true;
      return true;
    case 7:
      if (named(bytes, name, "referer")) set(head.referrer, start, end);
      else if (named(bytes, name, "sec-gpc")) head.privacy ||= isOne(bytes, start, end);
      else if (named(bytes, name, "purpose")) head.prefetch ||= isPrefetch(bytes, start, end);
      return true;
    case 10:
      if (named(bytes, name, "user-agent")) set(head.userAgent, start, end);
      else if (named(bytes, name, "connection")) {
        takeConnection(bytes, start, end, progress);
      }
      return true;
    case 11:
      if (named(bytes, name, "sec-purpose")) head.prefetch ||= isPrefetch(bytes, start, end);
      return true;
    case 12:
      if (named(bytes, name, "content-type")) set(head.contentType, start, end);
      return true;
    case 14:
      if (!named(bytes, name, "content-length")) return true;
      progress.lengths++;
      return takeLength(textOf(bytes, start, end), head);
    case 15:
      if (named(bytes, name, "accept-language")) set(head.language, start, end);
      else if (named(bytes, name, "x-forwarded-for")) {
        // Some proxies add a field of their own rather than to the one there is (RFC 9110 §5.3).
        const addresses = textOf(bytes, start, end);
        head.forwardedFor =
          head.forwardedFor === "" ? addresses : `${head.forwardedFor},${addresses}`;
      }
      return true;
    case 17:
      if (named(bytes, name, "transfer-encoding")) progress.transferEncoding = true;
      return true;
    default:
      return true;
  }
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

const KEEP_ALIVE = "keep-alive";

function takeHost(host: string | undefined, head: Head): boolean {
  if (host === undefined) return false;
  if (head.host === "") head.host = host;
  return true;
}

/** The host that was read last: nearly always the next one as well. */
let lastHost = "";

/** A sound host; undefined when it is none. */
function hostAt(bytes: Buffer, start: number, end: number): string | undefined {
  if (end - start === lastHost.length && equal(bytes, start, lastHost)) return lastHost;
  const host = textOf(bytes, start, end);
  if (!HOST_FORM.test(host)) return undefined;
  lastHost = host;
  return host;
}

function equal(bytes: Buffer, at: number, text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    if (bytes[at + i] !== text.charCodeAt(i)) return false;
  }
  return text !== "";
}

function takeConnection(bytes: Buffer, start: number, end: number, progress: Progress): void {
  if (end - start === KEEP_ALIVE.length && named(bytes, start, KEEP_ALIVE)) {
    progress.keepAlive = true;
    return;
  }
  const options = textOf(bytes, start, end).toLowerCase().split(",");
  for (const option of options) {
    if (option.trim() === "close") progress.close = true;
    else if (option.trim() === KEEP_ALIVE) progress.keepAlive = true;
  }
}

function takeLength(value: string, head: Head): boolean {
  if (!/^\d{1,15}$/.test(value)) return false;
  head.contentLength = Number(value);
  return true;
}

function set(span: Span, start: number, end: number): void {
  span.start = start;
  span.end = end;
}

/** Bytes as text, each a character: what is in a head means ASCII, or nothing to us. */
const textOf = (bytes: Buffer, start: number, end: number): string =>
  bytes.toString("latin1", start, end);

const isA = (bytes: Buffer, at: number, kind: number): boolean =>
  ((CLASSES[bytes[at] ?? 0] ?? 0) & kind) !== 0;

/** Whether the name at `at` is `expected`, which is in lower case and as long; case does not matter. */
function named(bytes: Buffer, at: number, expected: string): boolean {
  for (let i = 0; i < expected.length; i++) {
    const byte = bytes[at + i] ?? 0;
    const lower = byte >= 65 && byte <= 90 ? byte | 32 : byte;
    if (lower !== expected.charCodeAt(i)) return false;
  }
  return true;
}

const isOne = (bytes: Buffer, start: number, end: number): boolean =>
  end - start === 1 && bytes[start] === 49;

const isPrefetch = (bytes: Buffer, start: number, end: number): boolean =>
  textOf(bytes, start, end).includes("prefetch");

/** Forgets what an earlier request left. */
function clear(head: Head): void {
  head.host = "";
  head.contentLength = 0;
  head.forwardedFor = "";
  head.prefetch = false;
  head.privacy = false;
  set(head.userAgent, 0, 0);
  set(head.referrer, 0, 0);
  set(head.language, 0, 0);
  set(head.cookie, 0, 0);
  set(head.contentType, 0, 0);
}
