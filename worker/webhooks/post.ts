/**
 * Posts a body to a receiver by HTTP/1.1, on a connection of its own. It speaks the protocol itself
 * because the HTTP clients at hand connect by name, follow redirects, decompress, or read headers
 * without a bound.
 */
import { connect as connectTcp, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";

import { bareHost, DeliveryError, type Receiver } from "./receiver.ts";

/** Longest time that a body is waited for once the headers, and so the result, are there. */
const BODY_TIMEOUT_MS = 1_000;

export type PostRequest = {
  receiver: Receiver;
  headers: Readonly<Record<string, string>>;
  body: Buffer;
  /** Ends the attempt, by its deadline or because the process stops. */
  signal: AbortSignal;
};

/**
 * Returns the response. Throws when the connection fails, when there is no response before `signal`
 * is aborted, and when it is not HTTP/1.1.
 */
export async function post({
  receiver,
  headers,
  body,
  signal,
}: PostRequest): Promise<ReceiverResponse> {
  signal.throwIfAborted();
  const done = Promise.withResolvers<ReceiverResponse>();
  const reader = new ResponseReader();
  /** Ends with the response as far as it is there, otherwise with an error. */
  const finish = (missing: Error): void => {
    const { response } = reader;
    if (response === undefined) done.reject(missing);
    else done.resolve(response);
  };
  const abort = (): void => finish(new DeliveryError("timeout"));
  let bodyTimer: NodeJS.Timeout | undefined;
  const read = (part: Uint8Array): void => {
    try {
      if (reader.add(part))
        return finish(new DeliveryError("response_invalid", "There is no final response."));
      if (reader.response !== undefined) bodyTimer ??= setTimeout(abort, BODY_TIMEOUT_MS);
    } catch (error) {
      done.reject(error);
    }
  };
  const socket = open(receiver);
  socket.on("data", read);
  socket.on("error", finish);
  socket.on("close", () => finish(new DeliveryError("connection_closed")));
  signal.addEventListener("abort", abort);
  socket.write(Buffer.concat([Buffer.from(writeHead(receiver.url, headers, body.length)), body]));
  try {
    return await done.promise;
  } finally {
    clearTimeout(bodyTimer);
    signal.removeEventListener("abort", abort);
    socket.off("data", read);
    socket.destroy();
  }
}

/** Connects to the checked address; TLS verifies the certificate for the host of the URL. */
function open({ address, port, url }: Receiver): Socket {
  if (url.protocol === "http:") return connectTcp({ host: address, port });
  const host = bareHost(url);
  const name = isIP(host) === 0 ? { servername: host } : {};
  return connectTls({ host: address, port, ...name, ALPNProtocols: ["http/1.1"] });
}

function writeHead(
  url: URL,
  headers: Readonly<Record<string, string>>,
  contentLength: number,
): string {
  const all = {
    host: url.host,
    ...headers,
    "content-length": contentLength,
    "accept-encoding": "identity",
    connection: "close",
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST ${url.pathname}${url.search} HTTP/1.1\r\n${lines.join("")}\r\n`;
}

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

type Head = { status: number; headers: ReadonlyMap<string, string> };

/**
 * Reads a response as far as a delivery needs it: status, `Retry-After`, and the beginning of the
 * body. What a receiver can send is bounded, and nothing is decompressed.
 */
export class ResponseReader {
  #room = RESPONSE_BYTES_MAX;
  #bytes = Buffer.alloc(0);
  #head: Head | undefined;

  /** The response as far as it was read; undefined while the headers have not ended. */
  get response(): ReceiverResponse | undefined {
    if (this.#head === undefined) return undefined;
    const { status, headers } = this.#head;
    const body = isChunked(this.#head) ? joinChunks(this.#bytes) : this.#bytes;
    const excerpt = toText(body.subarray(0, EXCERPT_BYTES_MAX));
    return { status, retryAfter: headers.get("retry-after"), excerpt };
  }

  /**
   * Adds what has arrived; returns whether no more is to be read. Throws a {@link DeliveryError}
   * for a response that is not HTTP/1.1, or whose headers are too long.
   */
  add(part: Uint8Array): boolean {
    this.#bytes = Buffer.concat([this.#bytes, part.subarray(0, this.#room)]);
    this.#room -= Math.min(this.#room, part.length);
    this.#readHead();
    return this.#room === 0 || (this.#head !== undefined && isComplete(this.#head, this.#bytes));
  }

  /** Takes the head from the beginning of what has arrived, and interim ones before it. */
  #readHead(): void {
    while (this.#head === undefined) {
      const end = this.#bytes.indexOf(HEAD_END);
      if (end > HEAD_BYTES_MAX || (end < 0 && this.#bytes.length > HEAD_BYTES_MAX))
        throw new DeliveryError("response_invalid", "The headers are too long.");
      if (end < 0) return;
      const found = parseHead(this.#bytes.toString("latin1", 0, end));
      this.#bytes = this.#bytes.subarray(end + HEAD_END.length);
      // RFC 9110 §15.2: interim responses precede the final one.
      if (found.status >= 200) this.#head = found;
    }
  }
}

function parseHead(text: string): Head {
  const [statusLine = "", ...lines] = text.split("\r\n");
  const status = STATUS_LINE.exec(statusLine)?.groups?.["status"];
  if (status === undefined) throw new DeliveryError("response_invalid");
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
