/**
 * The write buffer: collects the responses of one turn of the event loop as HTTP/1.1, to send those
 * of a connection at once.
 */
import { STATUS_CODES } from "node:http";

import type { ByteSlice } from "../../shared/bytes.ts";
import { LINK_RECORD_BYTES_MAX } from "../../shared/contracts/link-record.ts";
import type { RedirectStatus } from "../../shared/contracts/redirect-status.ts";
import { PAGE_BYTES_MAX, type PageResponse, type RedirectorResponse } from "./response.ts";

/**
 * Maximum bytes of one response: its head, and a page ({@link PAGE_BYTES_MAX}) or a destination,
 * which is part of a link's record ({@link LINK_RECORD_BYTES_MAX}) or bounded by `forwardQuery`.
 */
export const RESPONSE_BYTES_MAX = PAGE_BYTES_MAX + LINK_RECORD_BYTES_MAX;

/** Several thousand redirects, and more than the longest response: {@link RESPONSE_BYTES_MAX}. */
export const WRITE_BUFFER_BYTES = 1024 * 1024;

/** The request of a response, as far as its head depends on it; `now` is in Unix milliseconds. */
export type RespondedRequest = { method: string; keepAlive: boolean; now: number };

export class WriteBuffer<Receiver> {
  readonly #writer = new ResponseWriter();
  readonly #buffer = Buffer.allocUnsafe(WRITE_BUFFER_BYTES);
  #end = 0;
  readonly #receivers: Receiver[] = [];
  /** The end of each receiver's bytes. */
  readonly #ends: number[] = [];
  /** Bytes that were sent before those of the buffer. */
  #sent = 0;

  /** Bytes that were ever added. */
  get added(): number {
    return this.#sent + this.#end;
  }

  /** Appends a response. Returns false when it does not fit: the caller must `send` first. */
  add(receiver: Receiver, response: RedirectorResponse, request: RespondedRequest): boolean {
    const end = this.#writer.write(response, request, this.#buffer, this.#end);
    if (end === NO_ROOM) return false;
    this.#end = end;
    const last = this.#receivers.length - 1;
    if (this.#receivers[last] === receiver) {
      this.#ends[last] = end;
    } else {
      this.#receivers.push(receiver);
      this.#ends.push(end);
    }
    return true;
  }

  /** Passes all bytes to `send`, receiver by receiver in order, and empties the buffer. */
  send(send: (receiver: Receiver, bytes: Buffer, start: number, end: number) => void): void {
    let start = 0;
    let i = 0;
    for (const receiver of this.#receivers) {
      const end = this.#ends[i++] ?? start;
      send(receiver, this.#buffer, start, end);
      start = end;
    }
    this.#receivers.length = 0;
    this.#ends.length = 0;
    this.#sent += this.#end;
    this.#end = 0;
  }
}

/** Returned instead of an end when the response does not fit; nothing was written then. */
export const NO_ROOM = -1;

const END = Buffer.from("\r\n\r\n");

/** A redirect up to its location, on a connection that stays open, and on one that does not. */
type RedirectStart = { keepAlive: Buffer; close: Buffer };

/** Serializes responses into the caller's buffer. */
export class ResponseWriter {
  // Every response has a Date field (RFC 9110 §6.6.1), which changes once a second.
  #second = 0;
  #dateLine = "";
  /** Of the responses of this second, by status. */
  readonly #starts = new Map<RedirectStatus, RedirectStart>();

  /**
   * Writes a response at `offset` of `target` and returns its end; {@link NO_ROOM} when it does not
   * fit. Omits the body for a HEAD request.
   */
  write(
    response: RedirectorResponse,
    request: RespondedRequest,
    target: Buffer,
    offset: number,
  ): number {
    this.#refreshDate(request.now);
    if (!("location" in response)) return this.#writePage(response, request, target, offset);
    const { location, status } = response;
    const starts = this.#starts.get(status) ?? this.#startOf(status);
    const start = request.keepAlive ? starts.keepAlive : starts.close;
    const length = typeof location === "string" ? location.length : location.end - location.start;
    if (start.length + length + END.length > target.length - offset) return NO_ROOM;
    target.set(start, offset);
    let end = offset + start.length;
    end += writeLocation(location, target, end);
    target.set(END, end);
    return end + END.length;
  }

  #refreshDate(now: number): void {
    const current = Math.floor(now / 1_000);
    if (current === this.#second) return;
    this.#second = current;
    this.#dateLine = `Date: ${new Date(now).toUTCString()}\r\n`;
    this.#starts.clear();
  }

  #startOf(status: RedirectStatus): RedirectStart {
    // A browser that keeps a 301 or 308 goes on to the destination, and no visit is counted.
    const start = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${this.#dateLine}Cache-Control: private, no-store\r\nContent-Length: 0\r\n`;
    const starts = {
      keepAlive: Buffer.from(`${start}Connection: keep-alive\r\nLocation: `),
      close: Buffer.from(`${start}Connection: close\r\nLocation: `),
    };
    this.#starts.set(status, starts);
    return starts;
  }

  #writePage(
    { status, headers, body }: PageResponse,
    { method, keepAlive }: RespondedRequest,
    target: Buffer,
    offset: number,
  ): number {
    const fields = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    // A 204 has no body and must not have a Content-Length (RFC 9110 §8.6).
    if (status !== 204) fields.push(`Content-Length: ${body.length}\r\n`);
    fields.push(`Connection: ${keepAlive ? "keep-alive" : "close"}\r\n`);
    const head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${this.#dateLine}${fields.join("")}\r\n`;
    const bodyLength = method === "HEAD" ? 0 : body.length;
    if (head.length + bodyLength > target.length - offset) return NO_ROOM;
    // Latin-1 writes one byte per character, so the length is that of the string.
    const end = offset + target.write(head, offset, "latin1");
    return bodyLength === 0 ? end : end + body.copy(target, end);
  }
}

function writeLocation(location: string | ByteSlice, target: Buffer, offset: number): number {
  // Latin-1 writes one byte per character, so the length is that of the string.
  if (typeof location === "string") return target.write(location, offset, "latin1");
  return location.bytes.copy(target, offset, location.start, location.end);
}
