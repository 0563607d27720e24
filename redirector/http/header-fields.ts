/** Parses field lines (RFC 9112 §5): validates all of them, and stores the values that are used. */
import { announcesFetch } from "../../shared/visitors/automation.ts";
import {
  COLON,
  CR,
  decodeLatin1,
  equalsText,
  findValueEnd,
  hasFieldName,
  isInClass,
  LF,
  type ScanBuffer,
  SPACE,
  TAB,
  toFieldName,
  TOKEN,
} from "./bytes.ts";
import { type ParseResult, PARTIAL, reject, type RequestHead, setRange } from "./request.ts";

/** State that is needed only while a head is parsed: counts of fields, and flags. */
export class FieldState {
  hosts = 0;
  lengths = 0;
  /** The codings of all fields, in lower case, joined in order; undefined for none. */
  transferEncoding: string | undefined;
  /** The expectations of all fields, likewise. */
  expect: string | undefined;
  close = false;
  keepAlive = false;

  reset(): void {
    this.hosts = 0;
    this.lengths = 0;
    this.transferEncoding = undefined;
    this.expect = undefined;
    this.close = false;
    this.keepAlive = false;
  }
}

/** Parses the field line at `from`. Returns its end, or a result that ends parsing. */
export function readField(
  scan: ScanBuffer,
  from: number,
  head: RequestHead,
  state: FieldState,
): number | ParseResult {
  const { bytes, limit } = scan;
  let at = from;
  while (at < limit && isInClass(bytes, at, TOKEN)) at++;
  if (at >= limit) return PARTIAL;
  // Parsers disagree about lines that begin with whitespace or have it before the colon: they
  // enable smuggling.
  if (at === from || bytes[at] !== COLON) return reject(400);
  const length = at++ - from;
  while (at < limit && (bytes[at] === SPACE || bytes[at] === TAB)) at++;
  const start = at;
  at = findValueEnd(scan, at);
  if (at + 1 >= limit) return at < limit && bytes[at] !== CR ? reject(400) : PARTIAL;
  if (bytes[at] !== CR || bytes[at + 1] !== LF) return reject(400);
  let end = at;
  while (end > start && (bytes[end - 1] === SPACE || bytes[end - 1] === TAB)) end--;
  return applyField(scan, from, length, start, end, head, state) ? at + 2 : reject(400);
}

/** Maximum bytes of a `Connection` field: real ones list two or three options. */
const CONNECTION_BYTES_MAX = 256;

const ACCEPT_LANGUAGE = toFieldName("accept-language");
const CONNECTION = toFieldName("connection");
const CONTENT_LENGTH = toFieldName("content-length");
const CONTENT_TYPE = toFieldName("content-type");
const COOKIE = toFieldName("cookie");
const DOCUMENT = toFieldName("document");
const EXPECT = toFieldName("expect");
const HOST = toFieldName("host");
const KEEP_ALIVE = toFieldName("keep-alive");
const PURPOSE = toFieldName("purpose");
const REFERER = toFieldName("referer");
const SEC_FETCH_DEST = toFieldName("sec-fetch-dest");
const SEC_GPC = toFieldName("sec-gpc");
const SEC_PURPOSE = toFieldName("sec-purpose");
const TRANSFER_ENCODING = toFieldName("transfer-encoding");
const USER_AGENT = toFieldName("user-agent");
const X_FIREFOX_AI = toFieldName("x-firefox-ai");
const X_FORWARDED_FOR = toFieldName("x-forwarded-for");
const X_MOZ = toFieldName("x-moz");
const X_PURPOSE = toFieldName("x-purpose");
const X_SEC_PURPOSE = toFieldName("x-sec-purpose");

/** Stores a field that is used, by the length of its name first. False rejects the request. */
function applyField(
  scan: ScanBuffer,
  name: number,
  length: number,
  start: number,
  end: number,
  head: RequestHead,
  state: FieldState,
): boolean {
  const { bytes } = scan;
  switch (length) {
    case 4:
      if (!hasFieldName(scan, name, length, HOST)) return true;
      if (++state.hosts > 1 || hasTabAround(bytes, name + length + 1, start, end)) return false;
      // An absolute target's authority takes precedence (RFC 9112 §3.2.2), but the field must be
      // valid.
      return applyHost(readHost(bytes, start, end), head);
    case 6:
      if (hasFieldName(scan, name, length, COOKIE)) setRange(head.cookie, start, end);
      else if (hasFieldName(scan, name, length, EXPECT))
        state.expect = joinField(state.expect, bytes, start, end);
      return true;
    case 7:
      if (hasFieldName(scan, name, length, REFERER)) setRange(head.referrer, start, end);
      else applyMark(scan, name, length, start, end, head);
      return true;
    case 10:
      if (hasFieldName(scan, name, length, USER_AGENT)) setRange(head.userAgent, start, end);
      else if (hasFieldName(scan, name, length, CONNECTION)) {
        if (end - start > CONNECTION_BYTES_MAX) return false;
        applyConnection(scan, start, end, state);
      }
      return true;
    case 12:
      if (hasFieldName(scan, name, length, CONTENT_TYPE)) setRange(head.contentType, start, end);
      else applyMark(scan, name, length, start, end, head);
      return true;
    case 14:
      if (!hasFieldName(scan, name, length, CONTENT_LENGTH)) {
        applyMark(scan, name, length, start, end, head);
        return true;
      }
      if (hasTabAround(bytes, name + length + 1, start, end)) return false;
      state.lengths++;
      return applyContentLength(decodeLatin1(bytes, start, end), head);
    case 15:
      if (hasFieldName(scan, name, length, ACCEPT_LANGUAGE)) setRange(head.language, start, end);
      else if (hasFieldName(scan, name, length, X_FORWARDED_FOR)) {
        // Some proxies add another field instead of extending the existing one (RFC 9110 §5.3).
        const addresses = decodeLatin1(bytes, start, end);
        head.forwardedFor =
          head.forwardedFor === "" ? addresses : `${head.forwardedFor},${addresses}`;
      }
      return true;
    case 17:
      if (!hasFieldName(scan, name, length, TRANSFER_ENCODING)) return true;
      if (hasTabAround(bytes, name + length + 1, start, end)) return false;
      state.transferEncoding = joinField(state.transferEncoding, bytes, start, end);
      return true;
    default:
      applyMark(scan, name, length, start, end, head);
      return true;
  }
}

/** Stores what a field says about whose request it is, and for what. */
function applyMark(
  scan: ScanBuffer,
  name: number,
  length: number,
  start: number,
  end: number,
  head: RequestHead,
): void {
  const { bytes } = scan;
  switch (length) {
    case 3:
      if (decodeLatin1(bytes, name, name + length).toLowerCase() === "dnt")
        head.privacy ||= isOne(bytes, start, end);
      return;
    case 5:
      if (hasFieldName(scan, name, length, X_MOZ)) applyPurpose(bytes, start, end, head);
      return;
    case 7:
      if (hasFieldName(scan, name, length, SEC_GPC)) head.privacy ||= isOne(bytes, start, end);
      else if (hasFieldName(scan, name, length, PURPOSE)) applyPurpose(bytes, start, end, head);
      return;
    case 9:
      if (hasFieldName(scan, name, length, X_PURPOSE)) applyPurpose(bytes, start, end, head);
      return;
    case 11:
      if (hasFieldName(scan, name, length, SEC_PURPOSE)) applyPurpose(bytes, start, end, head);
      return;
    case 12:
      // Firefox's previews of links.
      if (hasFieldName(scan, name, length, X_FIREFOX_AI))
        head.prefetch ||= isOne(bytes, start, end);
      return;
    case 13:
      if (hasFieldName(scan, name, length, X_SEC_PURPOSE)) applyPurpose(bytes, start, end, head);
      return;
    case 14:
      if (hasFieldName(scan, name, length, SEC_FETCH_DEST))
        head.embedded ||= !isDocument(scan, start, end);
      return;
    default:
  }
}

/** Appends a field's value to those of earlier fields of its name (RFC 9110 §5.3). */
function joinField(values: string | undefined, bytes: Buffer, start: number, end: number): string {
  const value = decodeLatin1(bytes, start, end).toLowerCase();
  return values === undefined ? value : `${values},${value}`;
}

/** Parsers disagree whether a tab next to a host, a length or a coding belongs to it. */
function hasTabAround(bytes: Buffer, from: number, start: number, end: number): boolean {
  for (let at = from; at < start; at++) if (bytes[at] === TAB) return true;
  for (let at = end; bytes[at] !== CR; at++) if (bytes[at] === TAB) return true;
  return false;
}

function applyHost(host: string | undefined, head: RequestHead): boolean {
  if (host === undefined) return false;
  if (head.host === "") head.host = host;
  return true;
}

function applyConnection(scan: ScanBuffer, start: number, end: number, state: FieldState): void {
  if (end - start === 10 && hasFieldName(scan, start, 10, KEEP_ALIVE)) {
    state.keepAlive = true;
    return;
  }
  const options = decodeLatin1(scan.bytes, start, end).toLowerCase().split(",");
  for (const option of options) {
    if (option.trim() === "close") state.close = true;
    else if (option.trim() === "keep-alive") state.keepAlive = true;
  }
}

function applyContentLength(value: string, head: RequestHead): boolean {
  if (!/^\d{1,15}$/.test(value)) return false;
  head.contentLength = Number(value);
  return true;
}

const isOne = (bytes: Buffer, start: number, end: number): boolean =>
  end - start === 1 && bytes[start] === 49;

/** Maximum bytes of a purpose field that are read: real ones have some twenty. */
const PURPOSE_BYTES_MAX = 128;

function applyPurpose(bytes: Buffer, start: number, end: number, head: RequestHead): void {
  const value = decodeLatin1(bytes, start, Math.min(end, start + PURPOSE_BYTES_MAX));
  head.prefetch ||= announcesFetch(value);
}

/** Whether a destination is that of each visit, or empty; so that none of them is decoded. */
const isDocument = (scan: ScanBuffer, start: number, end: number): boolean =>
  start === end || (end - start === 8 && hasFieldName(scan, start, 8, DOCUMENT));

/**
 * Maximum length of a host: a name of 253 characters (RFC 1035 §2.3.4), a trailing dot and a port.
 */
const HOST_LENGTH_MAX = 253 + 1 + 6;

/** A name without empty labels or an address, and a port: RFC 3986 §3.2.2, as short domains are. */
const HOST_FORM = /^(?:[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*\.?|\[[0-9A-Fa-f:.]+\])(?::\d{0,5})?$/;

/** Whether a text has the form of a host. */
export const isHost = (text: string): boolean =>
  text.length <= HOST_LENGTH_MAX && HOST_FORM.test(text);

/** The last host read; nearly always the next request has the same. */
let lastHost = "";

/** Reads a host; undefined when it is malformed. */
function readHost(bytes: Buffer, start: number, end: number): string | undefined {
  if (end - start === lastHost.length && equalsText(bytes, start, lastHost)) return lastHost;
  // Checked before a string is created, which `lastHost` would retain.
  if (end - start > HOST_LENGTH_MAX) return undefined;
  const host = decodeLatin1(bytes, start, end);
  if (!isHost(host)) return undefined;
  lastHost = host;
  return host;
}
