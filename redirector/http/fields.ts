/** Field lines (RFC 9112 §5): those that matter are taken in, all are held to their form. */
import { COLON, CR, isA, LF, named, SPACE, TAB, textOf, TOKEN, VALUE } from "./bytes.ts";
import { hostAt } from "./host.ts";
import { type Head, PARTIAL, type Reading, refuse, setSpan } from "./reading.ts";

/** What is known only while a head is being read. */
export type Progress = {
  hosts: number;
  lengths: number;
  transferEncoding: boolean;
  expect: boolean;
  close: boolean;
  keepAlive: boolean;
};

/** Where reading the fields of a head begins. */
export const newProgress = (): Progress => ({
  hosts: 0,
  lengths: 0,
  transferEncoding: false,
  expect: false,
  close: false,
  keepAlive: false,
});

/** Reads one field line and returns where the next begins. */
export function readField(
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
      if (named(bytes, name, "cookie")) setSpan(head.cookie, start, end);
      else if (named(bytes, name, "expect")) progress.expect = true;
      return true;
    case 7:
      if (named(bytes, name, "referer")) setSpan(head.referrer, start, end);
      else if (named(bytes, name, "sec-gpc")) head.privacy ||= isOne(bytes, start, end);
      else if (named(bytes, name, "purpose")) head.prefetch ||= isPrefetch(bytes, start, end);
      return true;
    case 10:
      if (named(bytes, name, "user-agent")) setSpan(head.userAgent, start, end);
      else if (named(bytes, name, "connection")) {
        takeConnection(bytes, start, end, progress);
      }
      return true;
    case 11:
      if (named(bytes, name, "sec-purpose")) head.prefetch ||= isPrefetch(bytes, start, end);
      return true;
    case 12:
      if (named(bytes, name, "content-type")) setSpan(head.contentType, start, end);
      return true;
    case 14:
      if (!named(bytes, name, "content-length")) return true;
      progress.lengths++;
      return takeLength(textOf(bytes, start, end), head);
    case 15:
      if (named(bytes, name, "accept-language")) setSpan(head.language, start, end);
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

const KEEP_ALIVE = "keep-alive";

function takeHost(host: string | undefined, head: Head): boolean {
  if (host === undefined) return false;
  if (head.host === "") head.host = host;
  return true;
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

const isOne = (bytes: Buffer, start: number, end: number): boolean =>
  end - start === 1 && bytes[start] === 49;

const isPrefetch = (bytes: Buffer, start: number, end: number): boolean =>
  textOf(bytes, start, end).includes("prefetch");
