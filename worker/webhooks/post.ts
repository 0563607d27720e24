/**
 * Posts a body to a receiver by HTTP/1.1, on a connection of its own. It speaks the protocol itself
 * because the HTTP clients at hand connect by name, follow redirects, decompress, or read headers
 * without a bound.
 */
import { connect as connectTcp, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";

import { bareHost, type Receiver } from "./receiver.ts";
import { createResponseReader, type ReceiverResponse } from "./response-reader.ts";

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
  const reader = createResponseReader();
  /** Ends with the response as far as it is there, otherwise with an error. */
  const finish = (missing: Error): void => {
    const response = reader.response();
    if (response === undefined) done.reject(missing);
    else done.resolve(response);
  };
  const abort = (): void => finish(new Error("No response in time."));
  let bodyTimer: NodeJS.Timeout | undefined;
  const read = (part: Uint8Array): void => {
    try {
      if (reader.add(part)) return finish(new Error("There is no final response."));
      if (reader.response() !== undefined) bodyTimer ??= setTimeout(abort, BODY_TIMEOUT_MS);
    } catch (error) {
      done.reject(error);
    }
  };
  const socket = open(receiver);
  socket.on("data", read);
  socket.on("error", finish);
  socket.on("close", () => finish(new Error("The connection was closed without a response.")));
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
