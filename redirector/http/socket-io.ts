/** Output: it waits until the socket accepts it. */
import type { Client } from "./connection.ts";

/**
 * Sends a part of `bytes`, whose memory is reused; copies and buffers what the socket does not
 * accept.
 */
export function send(socket: Client, bytes: Buffer, start: number, end: number): void {
  const connection = socket.data;
  const length = end - start;
  if (connection.unsent !== undefined) {
    connection.unsent = Buffer.concat([connection.unsent, bytes.subarray(start, end)]);
    return;
  }
  const written = socket.write(bytes, start, length);
  if (written >= 0 && written < length) {
    connection.unsent = Buffer.from(bytes.subarray(start + written, end));
  }
}

/** Sends buffered output, once the socket accepts it. */
export function sendUnsent(socket: Client, unsent: Buffer): void {
  const written = Math.max(0, socket.write(unsent));
  socket.data.unsent = written < unsent.length ? unsent.subarray(written) : undefined;
}

/**
 * Ends a connection, or only its sending side while the client may still be sending: see
 * `LINGER_SECONDS`.
 */
export function end(socket: Client): void {
  const { lingers, peerEnded } = socket.data;
  if (lingers && !peerEnded) socket.shutdown();
  else socket.end();
}
