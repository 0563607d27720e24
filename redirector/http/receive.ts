/**
 * Receives the bytes of a connection: its PROXY header, if it starts with one, and its requests.
 */
import type { Client } from "./connection.ts";
import type { OpenConnections } from "./open-connections.ts";
import { readProxyHeader } from "./proxy-protocol.ts";
import type { ReadRequests } from "./request-loop.ts";
import { bufferRest } from "./socket-io.ts";

/** Reads the bytes that have arrived, or buffers them for a later turn. */
export function receive(
  socket: Client,
  chunk: Buffer,
  seconds: number,
  connections: Pick<OpenConnections, "reject" | "setClient">,
  read: ReadRequests,
): void {
  const { input, closing, awaitingProxyHeader, responseBuffered } = socket.data;
  if (closing) {
    socket.data.lingers = true;
    return;
  }
  const bytes = input === undefined ? chunk : Buffer.concat([input, chunk]);
  // The connection has had its turn; other connections come first.
  if (responseBuffered) {
    bufferRest(socket, bytes, 0, seconds);
    return;
  }
  const rest = awaitingProxyHeader ? applyProxyHeader(socket, bytes, seconds, connections) : bytes;
  if (rest !== undefined) read(socket, rest);
}

/**
 * Reads the PROXY header; closes a connection with an invalid one without a response. Returns the
 * bytes after the header, if there are any.
 */
function applyProxyHeader(
  socket: Client,
  bytes: Buffer,
  seconds: number,
  connections: Pick<OpenConnections, "reject" | "setClient">,
): Buffer | undefined {
  const header = readProxyHeader(bytes);
  if (header.kind === "rejected") {
    connections.reject(socket, "proxy_header");
    return undefined;
  }
  if (header.kind === "partial") {
    bufferRest(socket, bytes, 0, seconds);
    return undefined;
  }
  socket.data.awaitingProxyHeader = false;
  socket.data.input = undefined;
  if (header.address !== undefined && !connections.setClient(socket, header.address))
    return undefined;
  return header.end < bytes.length ? bytes.subarray(header.end) : undefined;
}
