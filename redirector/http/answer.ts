/** Answers as they go over the wire, written into a buffer of the caller's. */
import { STATUS_CODES } from "node:http";

import type { Passage } from "../../shared/bytes.ts";
import type { Page } from "../pages.ts";
import type { RefusedStatus } from "./reading.ts";

/** What a request is answered with: a redirect of a link, or anything else. */
export type Answer = { location: string | Passage } | Page;

/** Room that every answer fits into: the longest destination and its head, or a page. */
export const ANSWER_BYTES_MAX = 64 * 1024;

export type Terms = {
  method: string;
  keepAlive: boolean;
  /** Unix milliseconds. */
  now: number;
};

export type AnswerWriter = ReturnType<typeof createAnswerWriter>;

const END = Buffer.from("\r\n\r\n");

export function createAnswerWriter() {
  // Every answer holds the date (RFC 9110 §6.6.1), which changes once a second.
  let second = 0;
  let dateLine = "";
  let kept = Buffer.alloc(0);
  let closed = Buffer.alloc(0);

  function refreshDate(now: number): void {
    const current = Math.floor(now / 1_000);
    if (current === second) return;
    second = current;
    dateLine = `Date: ${new Date(now).toUTCString()}\r\n`;
    const start = `HTTP/1.1 302 Found\r\n${dateLine}Cache-Control: private, no-store\r\nContent-Length: 0\r\n`;
    kept = Buffer.from(`${start}Connection: keep-alive\r\nLocation: `);
    closed = Buffer.from(`${start}Connection: close\r\nLocation: `);
  }

  /**
   * Writes an answer at `offset` of `target`, which must have {@link ANSWER_BYTES_MAX} bytes left, and
   * returns where it ends. To a HEAD it goes without its body.
   */
  function write(answer: Answer, terms: Terms, target: Buffer, offset: number): number {
    refreshDate(terms.now);
    if (!("location" in answer)) return writePage(answer, terms, target, offset);
    const start = terms.keepAlive ? kept : closed;
    target.set(start, offset);
    let end = offset + start.length;
    end += writeLocation(answer.location, target, end);
    target.set(END, end);
    return end + END.length;
  }

  function writePage(
    { status, headers, body }: Page,
    { method, keepAlive }: Terms,
    target: Buffer,
    offset: number,
  ): number {
    const fields = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    // A 204 has no body, and so no length (RFC 9110 §8.6).
    if (status !== 204) fields.push(`Content-Length: ${Buffer.byteLength(body)}\r\n`);
    fields.push(`Connection: ${keepAlive ? "keep-alive" : "close"}\r\n`);
    const head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${dateLine}${fields.join("")}\r\n`;
    return offset + target.write(method === "HEAD" ? head : head + body, offset, "utf8");
  }

  /** Writes the last answer on a connection whose next bytes cannot be trusted. */
  function refuse(
    status: RefusedStatus | 413,
    now: number,
    target: Buffer,
    offset: number,
  ): number {
    const headers = { "content-type": "text/plain; charset=utf-8" };
    const body = `${STATUS_CODES[status] ?? ""}\n`;
    return write(
      { status, headers, body },
      { method: "GET", keepAlive: false, now },
      target,
      offset,
    );
  }

  return { write, refuse };
}

function writeLocation(location: string | Passage, target: Buffer, offset: number): number {
  if (typeof location === "string") return target.write(location, offset, "latin1");
  return location.bytes.copy(target, offset, location.start, location.end);
}
