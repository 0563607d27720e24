/** Field lines (RFC 9112 §5): those that matter are taken in, all are held to their form. */
import {
  COLON,
  CR,
  isA,
  isNamed,
  LF,
  nameOf,
  type Scan,
  SPACE,
  TAB,
  textOf,
  TOKEN,
  valueEnd,
} from "./bytes.ts";
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

/** Begins anew. */
export function clearProgress(progress: Progress): void {
  progress.hosts = 0;
  progress.lengths = 0;
  progress.transferEncoding = false;
  progress.expect = false;
  progress.close = false;
  progress.keepAlive = false;
}

/** Reads one field line and returns where the next begins. */
export function readField(
  scan: Scan,
  from: number,
  head: Head,
  progress: Progress,
): number | Reading {
  const { bytes, limit } = scan;
  let at = from;
  while (at < limit && isA(bytes, at, TOKEN)) at++;
  if (at >= limit) return PARTIAL;
  // A line that begins with a blank, or has one before its colon, is where readers disagree.
  if (at === from || bytes[at] !== COLON) return refuse(400);
  const length = at++ - from;
  while (at < limit && (bytes[at] === SPACE || bytes[at] === TAB)) at++;
  const start = at;
  at = valueEnd(scan, at);
  if (at + 1 >= limit) return at < limit && bytes[at] !== CR ? refuse(400) : PARTIAL;
  if (bytes[at] !== CR || bytes[at + 1] !== LF) return refuse(400);
  let end = at;
  while (end > start && (bytes[end - 1] === SPACE || bytes[end - 1] === TAB)) end--;
  return takeField(scan, from, length, start, end, head, progress) ? at + 2 : refuse(400);
}

const ACCEPT_LANGUAGE = nameOf("accept-language");
const CONNECTION = nameOf("connection");
const CONTENT_LENGTH = nameOf("content-length");
const CONTENT_TYPE = nameOf("content-type");
const COOKIE = nameOf("cookie");
const EXPECT = nameOf("expect");
const HOST = nameOf("host");
const KEEP_ALIVE = nameOf("keep-alive");
const PURPOSE = nameOf("purpose");
const REFERER = nameOf("referer");
const SEC_GPC = nameOf("sec-gpc");
const SEC_PURPOSE = nameOf("sec-purpose");
const TRANSFER_ENCODING = nameOf("transfer-encoding");
const USER_AGENT = nameOf("user-agent");
const X_FORWARDED_FOR = nameOf("x-forwarded-for");

/** Takes in the fields that matter, told apart by length first; false when one must be refused. */
function takeField(
  scan: Scan,
  name: number,
  length: number,
  start: number,
  end: number,
  head: Head,
  progress: Progress,
): boolean {
  const { bytes } = scan;
  switch (length) {
    case 3:
      if (textOf(bytes, name, name + length).toLowerCase() === "dnt")
        head.privacy ||= isOne(bytes, start, end);
      return true;
    case 4:
      if (!isNamed(scan, name, length, HOST)) return true;
      if (++progress.hosts > 1) return false;
      // An absolute target's own authority counts (RFC 9112 §3.2.2); the field must be sound all the same.
      return takeHost(hostAt(bytes, start, end), head);
    case 6:
      if (isNamed(scan, name, length, COOKIE)) setSpan(head.cookie, start, end);
      else if (isNamed(scan, name, length, EXPECT)) progress.expect = true;
      return true;
    case 7:
      if (isNamed(scan, name, length, REFERER)) setSpan(head.referrer, start, end);
      else if (isNamed(scan, name, length, SEC_GPC)) head.privacy ||= isOne(bytes, start, end);
      else if (isNamed(scan, name, length, PURPOSE))
        head.prefetch ||= isPrefetch(bytes, start, end);
      return true;
    case 10:
      if (isNamed(scan, name, length, USER_AGENT)) setSpan(head.userAgent, start, end);
      else if (isNamed(scan, name, length, CONNECTION)) takeConnection(scan, start, end, progress);
      return true;
    case 11:
      if (isNamed(scan, name, length, SEC_PURPOSE)) head.prefetch ||= isPrefetch(bytes, start, end);
      return true;
    case 12:
      if (isNamed(scan, name, length, CONTENT_TYPE)) setSpan(head.contentType, start, end);
      return true;
    case 14:
      if (!isNamed(scan, name, length, CONTENT_LENGTH)) return true;
      progress.lengths++;
      return takeLength(textOf(bytes, start, end), head);
    case 15:
      if (isNamed(scan, name, length, ACCEPT_LANGUAGE)) setSpan(head.language, start, end);
      else if (isNamed(scan, name, length, X_FORWARDED_FOR)) {
        // Some proxies add a field of their own rather than to the one there is (RFC 9110 §5.3).
        const addresses = textOf(bytes, start, end);
        head.forwardedFor =
          head.forwardedFor === "" ? addresses : `${head.forwardedFor},${addresses}`;
      }
      return true;
    case 17:
      if (isNamed(scan, name, length, TRANSFER_ENCODING)) progress.transferEncoding = true;
      return true;
    default:
      return true;
  }
}

function takeHost(host: string | undefined, head: Head): boolean {
  if (host === undefined) return false;
  if (head.host === "") head.host = host;
  return true;
}

function takeConnection(scan: Scan, start: number, end: number, progress: Progress): void {
  if (end - start === 10 && isNamed(scan, start, 10, KEEP_ALIVE)) {
    progress.keepAlive = true;
    return;
  }
  const options = textOf(scan.bytes, start, end).toLowerCase().split(",");
  for (const option of options) {
    if (option.trim() === "close") progress.close = true;
    else if (option.trim() === "keep-alive") progress.keepAlive = true;
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
