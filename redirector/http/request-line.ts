/** The request line (RFC 9112 §3). */
import {
  CR,
  isA,
  LF,
  NINE,
  QUESTION_MARK,
  SLASH,
  SPACE,
  TARGET,
  textOf,
  TOKEN,
  ZERO,
} from "./bytes.ts";
import { HOST_FORM } from "./host.ts";
import { type Head, PARTIAL, type Reading, refuse } from "./reading.ts";

const METHOD_LENGTH_MAX = 16;

/** Reads the line at `from`; gives where it ends, or what else came of it. */
export function readRequestLine(
  bytes: Buffer,
  from: number,
  limit: number,
  head: Head,
): number | Reading {
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
