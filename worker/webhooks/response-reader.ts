/**
 * Reads a response of HTTP/1.1 as far as a delivery needs it: status, `Retry-After`, and the
 * beginning of the body. What a receiver can send is bounded, and nothing is decompressed.
 */

/** Most bytes of a response that are read; the rest is left unread. */
export const RESPONSE_BYTES_MAX = 64 * 1_024;

/** Most bytes of status line and headers. */
export const HEAD_BYTES_MAX = 16 * 1_024;

/** Most bytes of the body that are kept. */
export const EXCERPT_BYTES_MAX = 1_024;

const HEAD_END = Buffer.from("\r\n\r\n");

const STATUS_LINE = /^HTTP\/1\.[01] (?<status>\d{3})(?: |$)/;

export type ReceiverResponse = {
  status: number;
  /** The value of `Retry-After`; undefined without one. */
  retryAfter: string | undefined;
  /** The beginning of the body as text, with chunks put together. */
  excerpt: string;
};

/** The response is not HTTP/1.1, or its headers are longer than is read. */
class ResponseError extends Error {
  override name = "ResponseError";
}

type Head = { status: number; headers: ReadonlyMap<string, string> };

export function createResponseReader() {
  let room = RESPONSE_BYTES_MAX;
  let bytes = Buffer.alloc(0);
  let head: Head | undefined;

  /** Takes the head from the beginning of what has arrived, and interim ones before it. */
  function readHead(): void {
    while (head === undefined) {
      const end = bytes.indexOf(HEAD_END);
      if (end > HEAD_BYTES_MAX || (end < 0 && bytes.length > HEAD_BYTES_MAX))
        throw new ResponseError("The headers are too long.");
      if (end < 0) return;
      const found = parseHead(bytes.toString("latin1", 0, end));
      bytes = bytes.subarray(end + HEAD_END.length);
      // RFC 9110 §15.2: interim responses precede the final one.
      if (found.status >= 200) head = found;
    }
  }

  return {
    /**
     * Adds what has arrived; returns whether no more is to be read. Throws a {@link ResponseError}.
     */
    add(part: Uint8Array): boolean {
      bytes = Buffer.concat([bytes, part.subarray(0, room)]);
      room -= Math.min(room, part.length);
      readHead();
      return room === 0 || (head !== undefined && isComplete(head, bytes));
    },
    /** What has been read; undefined while the headers have not ended. */
    response(): ReceiverResponse | undefined {
      if (head === undefined) return undefined;
      const body = isChunked(head) ? joinChunks(bytes) : bytes;
      const excerpt = toText(body.subarray(0, EXCERPT_BYTES_MAX));
      return { status: head.status, retryAfter: head.headers.get("retry-after"), excerpt };
    },
  };
}

function parseHead(text: string): Head {
  const [statusLine = "", ...lines] = text.split("\r\n");
  const status = STATUS_LINE.exec(statusLine)?.groups?.["status"];
  if (status === undefined) throw new ResponseError("The response is not HTTP/1.1.");
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  });
  return { status: Number(status), headers: new Map(headers) };
}

const isChunked = ({ headers }: Head): boolean =>
  headers.get("transfer-encoding")?.toLowerCase() === "chunked";

const LAST_CHUNK = Buffer.from("0\r\n\r\n");

/** Whether the body has ended. Without a length it ends with the connection. */
function isComplete(head: Head, body: Buffer): boolean {
  if (head.status === 204 || head.status === 304) return true;
  if (isChunked(head)) return body.subarray(-LAST_CHUNK.length).equals(LAST_CHUNK);
  const length = head.headers.get("content-length");
  return length !== undefined && body.length >= Number(length);
}

/** Most characters of a chunk's first line. */
const CHUNK_LINE_MAX = 256;

const CHUNK_LINE = /^(?<size>[0-9a-f]{1,8})(?:;[^\r]*)?\r\n/i;

/** The data of the chunks (RFC 9112 §7.1) at the beginning of a body; stops at what is none. */
function joinChunks(body: Buffer): Buffer {
  const parts: Buffer[] = [];
  let rest = body;
  let joined = 0;
  while (joined < EXCERPT_BYTES_MAX) {
    const match = CHUNK_LINE.exec(rest.toString("latin1", 0, CHUNK_LINE_MAX));
    const size = Number.parseInt(match?.groups?.["size"] ?? "0", 16);
    if (match === null || size === 0) break;
    const start = match[0].length;
    parts.push(rest.subarray(start, start + size));
    joined += size;
    rest = rest.subarray(start + size + "\r\n".length);
  }
  return Buffer.concat(parts);
}

/** PostgreSQL stores no NUL. */
const toText = (bytes: Buffer): string => bytes.toString("utf8").replaceAll("\0", "\u{fffd}");
