/**
 * Receives the bytes of a connection: its PROXY header, if it starts with one, and its requests.
 */
import type { Client } from "./connection.ts";
import type { InputBuffers } from "./input-buffers.ts";
import type { OpenConnections } from "./open-connections.ts";
import { readProxyHeader } from "./proxy-protocol.ts";
import type { ReadRequests } from "./request-loop.ts";
import type { Turn } from "./turn.ts";

type ReceiveDeps = {
  connections: Pick<OpenConnections, "reject" | "setClient">;
  inputs: InputBuffers;
  turn: Turn;
  read: ReadRequests;
};

/** Reads the bytes that have arrived, or buffers them for a later turn. */
export function receive(socket: Client, chunk: Buffer, seconds: number, deps: ReceiveDeps): void {
  const { input, closing, awaitingProxyHeader, hadTurn } = socket.data;
  if (closing) {
    socket.data.lingers = true;
    return;
  }
  const bytes = input === undefined ? chunk : Buffer.concat([input, chunk]);
  const rest = awaitingProxyHeader ? applyProxyHeader(socket, bytes, seconds, deps) : bytes;
  if (rest === undefined) return;
  if (!hadTurn && !deps.turn.isLong()) {
    deps.read(socket, rest);
    return;
  }
  // Other connections, or other networks, come first.
  deps.turn.wait(socket);
  deps.inputs.buffer(socket, rest, 0, seconds);
}

/**
 * Reads the PROXY header; closes a connection with an invalid one without a response. Returns the
 * bytes after the header, if there are any.
 */
function applyProxyHeader(
  socket: Client,
  bytes: Buffer,
  seconds: number,
  { connections, inputs }: ReceiveDeps,
): Buffer | undefined {
  const header = readProxyHeader(bytes);
  if (header.kind === "rejected") {
    connections.reject(socket, "proxy_header");
    return undefined;
  }
  if (header.kind === "partial") {
    inputs.buffer(socket, bytes, 0, seconds);
    return undefined;
  }
  socket.data.awaitingProxyHeader = false;
  inputs.drop(socket.data);
  if (header.address !== undefined && !connections.setClient(socket, header.address))
    return undefined;
  return header.end < bytes.length ? bytes.subarray(header.end) : undefined;
}
