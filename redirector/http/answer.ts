/** Answers as they go over the wire: in text of which each character stands for one byte. */
import { STATUS_CODES } from "node:http";

import type { Page } from "../pages.ts";
import type { RefusedStatus } from "./head.ts";

/** What a request is answered with: a redirect of a link, or anything else. */
export type Answer = { location: string } | Page;

type Terms = { method: string; keepAlive: boolean; now: number };

export type AnswerWriter = ReturnType<typeof createAnswerWriter>;

const KEPT = "Connection: keep-alive\r\nLocation: ";
const CLOSED = "Connection: close\r\nLocation: ";

export function createAnswerWriter() {
  // Every answer holds the date (RFC 9110 §6.6.1), which changes once a second.
  let second = 0;
  let dateLine = "";
  let redirectStart = "";

  function refreshDate(now: number): void {
    const current = Math.floor(now / 1_000);
    if (current === second) return;
    second = current;
    dateLine = `Date: ${new Date(now).toUTCString()}\r\n`;
    redirectStart = `HTTP/1.1 302 Found\r\n${dateLine}Cache-Control: private, no-store\r\nContent-Length: 0\r\n`;
  }

  /** An answer as text; to a HEAD it goes without its body. */
  function write(answer: Answer, { method, keepAlive, now }: Terms): string {
    refreshDate(now);
    if ("location" in answer) {
      return `${redirectStart}${keepAlive ? KEPT : CLOSED}${answer.location}\r\n\r\n`;
    }
    const { status, headers } = answer;
    const body = Buffer.from(answer.body).toString("latin1");
    const fields = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    // A 204 has no body, and so no length (RFC 9110 §8.6).
    if (status !== 204) fields.push(`Content-Length: ${body.length}\r\n`);
    fields.push(`Connection: ${keepAlive ? "keep-alive" : "close"}\r\n`);
    const head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${dateLine}${fields.join("")}\r\n`;
    return method === "HEAD" ? head : head + body;
  }

  /** The last answer on a connection whose next bytes cannot be trusted. */
  function refuse(status: RefusedStatus | 413, now: number): string {
    const headers = { "content-type": "text/plain; charset=utf-8" };
    const body = `${STATUS_CODES[status] ?? ""}\n`;
    return write({ status, headers, body }, { method: "GET", keepAlive: false, now });
  }

  return { write, refuse };
}
