/**
 * Parses the head of an HTTP/1 request, strictly by RFC 9112. Ambiguous requests are rejected,
 * never interpreted: request smuggling needs two parsers that disagree. Takes one pass over the
 * bytes, and allocates only the few values that are needed as strings.
 */
import { QR_MARK } from "../../shared/contracts/analytics.ts";
import {
  AMPERSAND,
  CR,
  decodeLatin1,
  isInClass,
  LF,
  NINE,
  QUESTION_MARK,
  ScanBuffer,
  SLASH,
  SPACE,
  TARGET,
  TOKEN,
  ZERO,
} from "./bytes.ts";
import { FieldState, isHost, readField } from "./header-fields.ts";
import {
  clearHead,
  COMPLETE,
  type ParseResult,
  PARTIAL,
  reject,
  RequestHead,
  setRange,
} from "./request.ts";

const HEAD_BYTES_MAX = 16 * 1024;

const FIELDS_MAX = 100;

/** Has memory for one head, which it reuses. */
export class RequestHeadParser {
  readonly #scan = new ScanBuffer(HEAD_BYTES_MAX);
  readonly #fields = new FieldState();
  /** The head parsed last; valid only after a `complete` result, until the next call. */
  readonly head = new RequestHead(this.#scan.bytes);

  parse(bytes: Buffer, from: number): ParseResult {
    const scan = this.#scan;
    scan.limit = bytes.copy(scan.bytes, 0, from);
    clearHead(this.head);
    this.#fields.reset();
    const result = parseHead(scan, this.head, this.#fields);
    // A head that is incomplete at the limit is too long.
    return result === PARTIAL && scan.limit === HEAD_BYTES_MAX ? reject(431) : result;
  }
}

function parseHead(scan: ScanBuffer, head: RequestHead, state: FieldState): ParseResult {
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
      return finishHead(head, state);
    }
    if (fields === FIELDS_MAX) return reject(431);
    at = readField(scan, at, head, state);
  }
  return at;
}

const METHOD_LENGTH_MAX = 16;

/** Parses the request line (RFC 9112 §3). Returns its end, or a result that ends parsing. */
function readRequestLine(scan: ScanBuffer, from: number, head: RequestHead): number | ParseResult {
  const { bytes, limit } = scan;
  let at = from;
  while (at < limit && isInClass(bytes, at, TOKEN)) at++;
  if (at - from > METHOD_LENGTH_MAX) return reject(400);
  if (at >= limit) return PARTIAL;
  if (at === from || bytes[at] !== SPACE) return reject(400);
  head.method = readMethod(bytes, from, at);

  const target = ++at;
  let query = -1;
  while (at < limit && isInClass(bytes, at, TARGET)) {
    if (query < 0 && bytes[at] === QUESTION_MARK) query = at;
    at++;
  }
  if (at >= limit) return PARTIAL;
  if (at === target || bytes[at] !== SPACE) return reject(400);
  const pathEnd = query < 0 ? at : query;
  setRange(head.query, query < 0 ? at : query + 1, at);
  setRange(head.path, target, pathEnd);
  if (bytes[target] !== SLASH && !readOtherTarget(decodeLatin1(bytes, target, pathEnd), head)) {
    return reject(400);
  }

  const version = at + 1;
  const end = version + VERSION_LINE.length;
  if (end > limit) {
    return VERSION_LINE.startsWith(decodeLatin1(bytes, version, Math.min(version + 7, limit)))
      ? PARTIAL
      : reject(400);
  }
  if (!isVersionLine(scan, version)) {
    return reject(/^HTTP\/\d\.\d\r\n$/.test(decodeLatin1(bytes, version, end)) ? 505 : 400);
  }
  // The default of the version; `finishHead` applies the `Connection` field.
  head.keepAlive = bytes[end - 3] !== ZERO;
  return end;
}

const VERSION_LINE = "HTTP/1.x\r\n";
const HTTP = Buffer.from("HTTP").readInt32LE(0);
const MAJOR = Buffer.from("P/1.").readInt32LE(0);

/** Whether `HTTP/1.`, a digit and CRLF are at `at`. */
function isVersionLine({ bytes, words }: ScanBuffer, at: number): boolean {
  if (words.getInt32(at, true) !== HTTP || words.getInt32(at + 3, true) !== MAJOR) return false;
  const minor = bytes[at + 7] ?? 0;
  return minor >= ZERO && minor <= NINE && bytes[at + 8] === CR && bytes[at + 9] === LF;
}

/** Avoids decoding for the most frequent method. */
function readMethod(bytes: Buffer, start: number, end: number): string {
  if (
    end - start === 3 &&
    bytes[start] === 71 &&
    bytes[start + 1] === 69 &&
    bytes[start + 2] === 84
  )
    return "GET";
  return decodeLatin1(bytes, start, end);
}

/** Parses an absolute target; those of `OPTIONS *` and CONNECT are rejected later. */
function readOtherTarget(target: string, head: RequestHead): boolean {
  const [authority, host] = /^https?:\/\/([^/@]+)/i.exec(target) ?? [];
  if (authority === undefined || host === undefined) {
    return (target === "*" && head.method === "OPTIONS") || head.method === "CONNECT";
  }
  head.host = host;
  head.path.start += authority.length;
  // Without a path the path is "/" (RFC 9112 §3.2.2): points it to the last "/" before the
  // authority.
  if (authority.length === target.length) {
    head.path.end -= host.length;
    head.path.start = head.path.end - 1;
  } else if (target[authority.length] !== "/") return false;
  return isHost(host);
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
  if (head.query.start < head.query.end) takeQrMark(head);
  return COMPLETE;
}

const QR_MARK_BYTES = Buffer.from(QR_MARK);

/**
 * Takes the mark of QR codes off the query, each time it is a parameter byte for byte: other forms,
 * escaped or with a value, are the visitor's own. The other parameters move together in the head.
 */
function takeQrMark(head: RequestHead): void {
  const { bytes, query } = head;
  let kept = query.start;
  let from = query.start;
  let isFirst = true;
  for (let at = query.start; at <= query.end; at++) {
    if (at < query.end && bytes[at] !== AMPERSAND) continue;
    if (isQrMark(bytes, from, at)) head.scanned = true;
    else {
      if (!isFirst) bytes[kept++] = AMPERSAND;
      isFirst = false;
      if (kept < from) bytes.copyWithin(kept, from, at);
      kept += at - from;
    }
    from = at + 1;
  }
  if (head.scanned) query.end = kept;
}

function isQrMark(bytes: Buffer, start: number, end: number): boolean {
  if (end - start !== QR_MARK_BYTES.length) return false;
  for (let i = 0; i < QR_MARK_BYTES.length; i++)
    if (bytes[start + i] !== QR_MARK_BYTES[i]) return false;
  return true;
}
