/** Serializes responses as HTTP/1.1 into the caller's buffer. */
import { STATUS_CODES } from "node:http";

import type { ByteSlice } from "../../shared/bytes.ts";
import { LINK_RECORD_BYTES_MAX } from "../../shared/contracts/link-record.ts";
import type { RejectionStatus } from "./request-head.ts";
import { PAGE_BYTES_MAX, type PageResponse, type RedirectorResponse } from "./response.ts";

/**
 * Maximum bytes of one response: its head, and a page ({@link PAGE_BYTES_MAX}) or a destination,
 * which is part of a link's record ({@link LINK_RECORD_BYTES_MAX}) or bounded by `forwardQuery`.
 */
export const RESPONSE_BYTES_MAX = PAGE_BYTES_MAX + LINK_RECORD_BYTES_MAX;

/** Returned instead of an end when the response does not fit; nothing was written then. */
export const NO_ROOM = -1;

export type ResponseOptions = {
  method: string;
  keepAlive: boolean;
  /** Unix milliseconds. */
  now: number;
};

export type ResponseWriter = ReturnType<typeof createResponseWriter>;

const END = Buffer.from("\r\n\r\n");

export function createResponseWriter() {
  // Every response has a Date field (RFC 9110 §6.6.1), which changes once a second.
  let second = 0;
  let dateLine = "";
  let keepAliveStart = Buffer.alloc(0);
  let closeStart = Buffer.alloc(0);

  function refreshDate(now: number): void {
    const current = Math.floor(now / 1_000);
    if (current === second) return;
    second = current;
    dateLine = `Date: ${new Date(now).toUTCString()}\r\n`;
    const start = `HTTP/1.1 302 Found\r\n${dateLine}Cache-Control: private, no-store\r\nContent-Length: 0\r\n`;
    keepAliveStart = Buffer.from(`${start}Connection: keep-alive\r\nLocation: `);
    closeStart = Buffer.from(`${start}Connection: close\r\nLocation: `);
  }

  /**
   * Writes a response at `offset` of `target` and returns its end; {@link NO_ROOM} when it does not
   * fit. Omits the body for a HEAD request.
   */
  function write(
    response: RedirectorResponse,
    options: ResponseOptions,
    target: Buffer,
    offset: number,
  ): number {
    refreshDate(options.now);
    if (!("location" in response)) return writePage(response, options, target, offset);
    const { location } = response;
    const start = options.keepAlive ? keepAliveStart : closeStart;
    const length = typeof location === "string" ? location.length : location.end - location.start;
    if (start.length + length + END.length > target.length - offset) return NO_ROOM;
    target.set(start, offset);
    let end = offset + start.length;
    end += writeLocation(location, target, end);
    target.set(END, end);
    return end + END.length;
  }

  function writePage(
    { status, headers, body }: PageResponse,
    { method, keepAlive }: ResponseOptions,
    target: Buffer,
    offset: number,
  ): number {
    const fields = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    // A 204 has no body and must not have a Content-Length (RFC 9110 §8.6).
    if (status !== 204) fields.push(`Content-Length: ${body.length}\r\n`);
    fields.push(`Connection: ${keepAlive ? "keep-alive" : "close"}\r\n`);
    const head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${dateLine}${fields.join("")}\r\n`;
    const bodyLength = method === "HEAD" ? 0 : body.length;
    if (head.length + bodyLength > target.length - offset) return NO_ROOM;
    // Latin-1 writes one byte per character, so the length is that of the string.
    const end = offset + target.write(head, offset, "latin1");
    return bodyLength === 0 ? end : end + body.copy(target, end);
  }

  return { write };
}

const rejectionResponses = new Map<number, PageResponse>();

/** Returns the plain-text response that rejects a malformed request. */
export function rejectionResponse(status: RejectionStatus): PageResponse {
  let response = rejectionResponses.get(status);
  if (response === undefined) {
    response = {
      status,
      headers: { "content-type": "text/plain; charset=utf-8" },
      body: Buffer.from(`${STATUS_CODES[status] ?? ""}\n`),
    };
    rejectionResponses.set(status, response);
  }
  return response;
}

function writeLocation(location: string | ByteSlice, target: Buffer, offset: number): number {
  // Latin-1 writes one byte per character, so the length is that of the string.
  if (typeof location === "string") return target.write(location, offset, "latin1");
  return location.bytes.copy(target, offset, location.start, location.end);
}
