/** Parses the request line (RFC 9112 §3). */
import {
  CR,
  decodeLatin1,
  isInClass,
  LF,
  NINE,
  QUESTION_MARK,
  type ScanBuffer,
  SLASH,
  SPACE,
  TARGET,
  TOKEN,
  ZERO,
} from "./bytes.ts";
import { isHost } from "./host.ts";
import { type ParseResult, PARTIAL, reject, type RequestHead, setRange } from "./request-head.ts";

const METHOD_LENGTH_MAX = 16;

/** Parses the line at `from`. Returns the position of its end, or a result that ends parsing. */
export function readRequestLine(
  scan: ScanBuffer,
  from: number,
  head: RequestHead,
): number | ParseResult {
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

/**
 * Parses an absolute target. Accepts the targets of `OPTIONS *` and CONNECT, whose methods are
 * rejected later (RFC 9112 §3.2).
 */
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
