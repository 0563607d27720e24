/**
 * Posts a body to a receiver by HTTP/1.1, on a connection of its own, to the address that was
 * checked. Redirects are not followed, and nothing is decompressed.
 */
import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { isIP } from "node:net";

import { bareHost, DeliveryError, type Receiver } from "./receiver.ts";

/** Longest time that a body is waited for once the headers, and so the result, are there. */
const BODY_TIMEOUT_MS = 1_000;

/** Most interim responses; real ones are one or two (RFC 9110 §15.2). */
const INTERIM_MAX = 100;

/** Most bytes of a body that are read; the rest is left unread. */
export const BODY_BYTES_MAX = 64 * 1_024;

/** Most bytes of status line and headers. */
export const HEAD_BYTES_MAX = 16 * 1_024;

/** Most bytes of the body that are kept. */
export const EXCERPT_BYTES_MAX = 1_024;

export type PostRequest = {
  receiver: Receiver;
  headers: Readonly<Record<string, string>>;
  body: Buffer;
  /** Ends the attempt, by its deadline or because the process stops. */
  signal: AbortSignal;
};

export type ReceiverResponse = {
  status: number;
  /** The value of `Retry-After`; undefined without one. */
  retryAfter: string | undefined;
  /** The beginning of the body as text. */
  excerpt: string;
};

/**
 * Returns the response. Throws when the connection fails, when there is no response before `signal`
 * is aborted, and when it is not HTTP/1.1.
 */
export async function post(request: PostRequest): Promise<ReceiverResponse> {
  request.signal.throwIfAborted();
  const responded = Promise.withResolvers<IncomingMessage>();
  const sent = open(request);
  let interim = 0;
  sent.on("information", () => {
    if (++interim > INTERIM_MAX)
      sent.destroy(new DeliveryError("response_invalid", "There is no final response."));
  });
  sent.on("response", responded.resolve);
  sent.on("error", (error) => responded.reject(describe(error)));
  sent.end(request.body);
  try {
    const response = await responded.promise;
    const excerpt = await readExcerpt(response);
    const retryAfter = response.headers["retry-after"];
    return { status: response.statusCode ?? 0, retryAfter, excerpt };
  } finally {
    sent.destroy();
  }
}

/** Connects to the checked address; TLS verifies the certificate for the host of the URL. */
function open({ receiver: { address, port, url }, headers, body, signal }: PostRequest) {
  const options = {
    host: address,
    port,
    method: "POST",
    path: `${url.pathname}${url.search}`,
    setHost: false,
    headers: {
      host: url.host,
      ...headers,
      "content-length": String(body.length),
      "accept-encoding": "identity",
      connection: "close",
    },
    agent: false,
    maxHeaderSize: HEAD_BYTES_MAX,
    signal,
  };
  if (url.protocol === "http:") return requestHttp(options);
  const host = bareHost(url);
  const name = isIP(host) === 0 ? { servername: host } : {};
  return requestHttps({ ...options, ...name });
}

/** The beginning of a body, as far as it comes in time and within its bound. */
async function readExcerpt(response: IncomingMessage): Promise<string> {
  const ended = Promise.withResolvers<void>();
  const timer = setTimeout(ended.resolve, BODY_TIMEOUT_MS);
  let [excerpt, bytes] = [Buffer.alloc(0), 0];
  response.on("data", (part: Buffer) => {
    bytes += part.length;
    const room = EXCERPT_BYTES_MAX - excerpt.length;
    if (room > 0) excerpt = Buffer.concat([excerpt, part.subarray(0, room)]);
    if (bytes >= BODY_BYTES_MAX) ended.resolve();
  });
  for (const event of ["end", "error", "close"]) response.on(event, () => ended.resolve());
  await ended.promise;
  clearTimeout(timer);
  response.removeAllListeners("data");
  // PostgreSQL stores no NUL.
  return excerpt.toString("utf8").replaceAll("\0", "\u{fffd}");
}

/** Says what an error of the client means to the webhook's owner; others are what they are. */
function describe(error: Error): Error {
  const code = "code" in error ? String(error.code) : "";
  if (code === "ABORT_ERR") return new DeliveryError("timeout");
  if (code === "ECONNRESET") return new DeliveryError("connection_closed");
  if (code === "HPE_HEADER_OVERFLOW")
    return new DeliveryError("response_invalid", "The headers are too long.");
  return code.startsWith("HPE_") ? new DeliveryError("response_invalid") : error;
}
