/** One connection: its state, its time limits, and its output. */
import type { Socket } from "bun";

import type { AddressGroups } from "../../shared/addresses.ts";

/**
 * Timeouts: for a request to arrive, for the client to read a response, and for an idle connection.
 */
const REQUEST_SECONDS = 5;
const RESPONSE_SECONDS = 30;
const IDLE_SECONDS = 60;

/**
 * How long the bytes of a client are discarded after the response that ends its connection. A
 * socket that is closed with unread bytes resets the connection, and the client may then never read
 * its response (RFC 9112 §9.6).
 */
const LINGER_SECONDS = 2;

/** The state of one connection. */
export class Connection {
  /** The client's address, normalized. */
  peer: string;
  awaitingProxyHeader: boolean;
  /** The groups that count it; undefined when it is not counted. */
  groups: AddressGroups | undefined;
  /** Bytes of an incomplete request, or of requests that wait for their turn. */
  input: Buffer | undefined;
  /** Bytes of responses that the socket has not accepted yet. */
  unsent: Buffer | undefined;
  parsing = false;
  /** Whether the handler has returned a promise that is pending. */
  awaitingResponse = false;
  /** Whether the client was asked for the body of the incomplete request. */
  bodyRequested = false;
  /** Whether no more requests will be read. */
  closing = false;
  /** Whether the client may still be sending, although its input is no longer read. */
  lingers = false;
  peerEnded = false;
  /** Whether it had its turn: other connections come first until its next one. */
  hadTurn = false;
  /** Whether the socket is paused, as enough input is buffered. */
  paused = false;
  /** Whether it has had a request since eviction last checked it. */
  used = false;
  /** When the current state began, in seconds of the timeout clock. */
  since: number;

  constructor(peer: string, awaitingProxyHeader: boolean, seconds: number) {
    this.peer = peer;
    this.awaitingProxyHeader = awaitingProxyHeader;
    this.since = seconds;
  }
}

/** A socket with the state of its connection. */
export type Client = Socket<Connection>;

/** Whether the next request may be read. */
export const canRead = ({ awaitingResponse, closing, unsent }: Connection): boolean =>
  !awaitingResponse && !closing && unsent === undefined;

/** Whether more has arrived that may be read. */
export const hasMore = (connection: Connection): boolean =>
  connection.input !== undefined && canRead(connection);

/**
 * Whether the current state has lasted longer than its timeout: that of a request does not count
 * the time for which it waits for the server.
 */
export function isTimedOut(connection: Connection, seconds: number): boolean {
  const { unsent, awaitingResponse, input, lingers, since } = connection;
  const age = seconds - since;
  if (unsent !== undefined) return age > RESPONSE_SECONDS;
  if (lingers && !awaitingResponse) return age > LINGER_SECONDS;
  return age > (input !== undefined && !isBusy(connection) ? REQUEST_SECONDS : IDLE_SECONDS);
}

/** Whether a response is under way, so that closing the connection would lose it. */
export const isBusy = ({ unsent, awaitingResponse, hadTurn }: Connection): boolean =>
  unsent !== undefined || awaitingResponse || hadTurn;

/** Sends bytes, whose memory is reused; copies and buffers those that the socket does not take. */
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

/** Ends a connection; only its sending side while the client may send: {@link LINGER_SECONDS}. */
export function end(socket: Client): void {
  const { lingers, peerEnded } = socket.data;
  if (lingers && !peerEnded) socket.shutdown();
  else socket.end();
}
