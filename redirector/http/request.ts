/** A complete request, as connections pass it to the handler. */
import { type ByteRange, type ByteSlice, copySlice } from "../../shared/bytes.ts";
import { decodeLatin1 } from "./bytes.ts";
import type { RequestHead } from "./request-head.ts";
import type { RedirectorResponse } from "./response.ts";

/**
 * A complete request. Its bytes are reused as soon as the handler has returned: see {@link
 * copyRequest}.
 */
export type IncomingRequest = {
  head: RequestHead;
  /** The posted form; empty for other requests. */
  body: ByteSlice;
  /** Time of arrival, in Unix milliseconds. */
  now: number;
  /** The normalized IP address of the connection's peer. */
  peer: string;
};

/**
 * Responds to a request, synchronously if possible. A response that is not a promise is valid until
 * the next request.
 */
export type Handler = (
  incoming: IncomingRequest,
) => RedirectorResponse | Promise<RedirectorResponse>;

type Bytes = { bytes: Buffer };

/** Decodes a part of a head or body as UTF-8. */
export const toUtf8 = ({ bytes }: Bytes, { start, end }: ByteRange): string =>
  bytes.toString("utf8", start, end);

/** Decodes a part of a head as Latin-1: each byte is one character. */
export const toLatin1 = ({ bytes }: Bytes, { start, end }: ByteRange): string =>
  decodeLatin1(bytes, start, end);

/** Returns a field of a posted form; undefined when the body is not a form or has no such field. */
export function readFormField({ head, body }: IncomingRequest, name: string): string | undefined {
  const type = toUtf8(head, head.contentType).split(";")[0]?.trim().toLowerCase();
  if (type !== "application/x-www-form-urlencoded") return undefined;
  return new URLSearchParams(toUtf8(body, body)).get(name) ?? undefined;
}

/** The request with another Referer header, in ASCII. */
export function withReferrer(incoming: IncomingRequest, referrer: string): IncomingRequest {
  const { head } = incoming;
  const bytes = Buffer.concat([head.bytes.subarray(0, head.length), Buffer.from(referrer)]);
  const range = { start: head.length, end: bytes.length };
  return { ...incoming, head: { ...head, bytes, length: bytes.length, referrer: range } };
}

/** Copies a request, so that it stays unchanged across an `await`. */
export function copyRequest(incoming: IncomingRequest): IncomingRequest {
  const { head, body } = incoming;
  const { path, query, userAgent, referrer, language, cookie, contentType } = head;
  return {
    ...incoming,
    body: copySlice(body),
    head: {
      ...head,
      bytes: Buffer.from(head.bytes.subarray(0, head.length)),
      path: { ...path },
      query: { ...query },
      userAgent: { ...userAgent },
      referrer: { ...referrer },
      language: { ...language },
      cookie: { ...cookie },
      contentType: { ...contentType },
    },
  };
}
