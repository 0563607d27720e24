/** The request line (RFC 9112 §3). */
import {
  CR,
  isA,
  LF,
  NINE,
  QUESTION_MARK,
  type Scan,
  SLASH,
  SPACE,
  TARGET,
  textOf,
  TOKEN,
  ZERO,
} from "./bytes.ts";
import { HOST_FORM } from "./host.ts";
import { type Head, PARTIAL, type Reading, refuse, setSpan } from "./reading.ts";

const METHOD_LENGTH_MAX = 16;

/** Reads the line at `from`; gives where it ends, or what else came of it. */
export function readRequestLine(scan: Scan, from: number, head: Head): number | Reading {
  const { bytes, limit } = scan;
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
  setSpan(head.query, query < 0 ? at : query + 1, at);
  setSpan(head.path, target, pathEnd);
  if (bytes[target] !== SLASH && !readOtherTarget(textOf(bytes, target, pathEnd), head)) {
    return refuse(400);
  }

  const version = at + 1;
  const end = version + VERSION_LINE.length;
  if (end > limit) {
    return VERSION_LINE.startsWith(textOf(bytes, version, Math.min(version + 7, limit)))
      ? PARTIAL
      : refuse(400);
  }
  if (!isVersionLine(scan, version)) {
    return refuse(/^HTTP\/\d\.\d\r\n$/.test(textOf(bytes, version, end)) ? 505 : 400);
  }
  // Until the fields say otherwise.
  head.keepAlive = bytes[end - 3] !== ZERO;
  return end;
}

const VERSION_LINE = "HTTP/1.x\r\n";
const HTTP = Buffer.from("HTTP").readInt32LE(0);
const MAJOR = Buffer.from("P/1.").readInt32LE(0);

/** "HTTP/1." and a digit, at the end of a line. */
function isVersionLine({ bytes, words }: Scan, at: number): boolean {
  if (words.getInt32(at, true) !== HTTP || words.getInt32(at + 3, true) !== MAJOR) return false;
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
  const [authority, host] = /^https?:\/\/([^/@]+)/i.exec(target) ?? [];
  if (authority === undefined || host === undefined) {
    return (target === "*" && head.method === "OPTIONS") || head.method === "CONNECT";
  }
  head.host = host;
  head.path.start += authority.length;
  // Without a path it means "/" (RFC 9112 §3.2.2): the last one before the authority serves as well.
  if (authority.length === target.length) {
    head.path.end -= host.length;
    head.path.start = head.path.end - 1;
  } else if (target[authority.length] !== "/") return false;
  return HOST_FORM.test(host);
}
