/** The state of one connection, and its limits of time and memory. */
import type { Socket } from "bun";

import type { AddressGroups } from "../../shared/address-group.ts";

/** Timeouts: for a request to arrive, for the client to read a response, and for an idle connection. */
const REQUEST_SECONDS = 5;
const RESPONSE_SECONDS = 30;
const IDLE_SECONDS = 60;

/**
 * How long the bytes of a client are discarded after the response that ends its connection. A socket that is closed
 * with unread bytes resets the connection, and the client may then never read its response (RFC 9112 §9.6).
 */
const LINGER_SECONDS = 2;

/**
 * Maximum bytes of input that are buffered while a request is incomplete or a response is awaited;
 * a client that sends more is disconnected. Input that only waits for the connection's next turn
 * may be as long as one read (512 KiB in Bun); beyond this bound the socket is paused.
 */
export const INPUT_BYTES_MAX = 64 * 1024;

/** The state of one connection. */
export type Connection = {
  /** The client's address, normalized. */
  peer: string;
  /** Whether the PROXY header has not arrived yet. */
  awaitingProxyHeader: boolean;
  /** The groups that count it; undefined when it is not counted. */
  groups: AddressGroups | undefined;
  /** Bytes of an incomplete request, or of requests that wait for their turn. */
  input: Buffer | undefined;
  /** Bytes of responses that the socket has not accepted yet. */
  unsent: Buffer | undefined;
  /** Whether its input is being parsed. */
  parsing: boolean;
  /** Whether the handler has returned a promise that is pending. */
  awaitingResponse: boolean;
  /** Whether the client was asked for the body of the incomplete request. */
  bodyRequested: boolean;
  /** Whether no more requests will be read. */
  closing: boolean;
  /** Whether the client may still be sending, although its input is no longer read. */
  lingers: boolean;
  /** Whether the peer has closed its sending side. */
  peerEnded: boolean;
  /** Whether a response is in the write buffer, to be sent at the end of this turn. */
  responseBuffered: boolean;
  /** Whether the socket is paused, as enough input is buffered. */
  paused: boolean;
  /** Whether it has had a request since eviction last checked it. */
  used: boolean;
  /** When the current state began, in seconds of the sweep's clock. */
  since: number;
};

/** A socket with the state of its connection. */
export type Client = Socket<Connection>;

/** Creates the state of a new connection. */
export const createConnection = (
  peer: string,
  awaitingProxyHeader: boolean,
  seconds: number,
): Connection => ({
  peer,
  awaitingProxyHeader,
  groups: undefined,
  input: undefined,
  unsent: undefined,
  parsing: false,
  awaitingResponse: false,
  bodyRequested: false,
  closing: false,
  lingers: false,
  peerEnded: false,
  responseBuffered: false,
  paused: false,
  used: false,
  since: seconds,
});

/** Whether the next request may be read. */
export const canRead = ({ awaitingResponse, closing, unsent }: Connection): boolean =>
  !awaitingResponse && !closing && unsent === undefined;

/** Buffers `bytes` from `from` on, until the request is complete or the connection's turn comes. */
export function bufferInput(
  connection: Connection,
  bytes: Buffer,
  from: number,
  seconds: number,
): void {
  const length = bytes.length - from;
  const waitsForTurn = connection.responseBuffered && canRead(connection);
  if (length > INPUT_BYTES_MAX && !waitsForTurn) connection.closing = true;
  if (connection.closing || length === 0) {
    connection.input = undefined;
    if (length > 0) connection.lingers = true;
    return;
  }
  if (connection.input === undefined || from > 0) connection.since = seconds;
  // A copy frees the memory of requests already read; copying only when they are more than half bounds the work.
  const isSmall = 2 * length < bytes.buffer.byteLength;
  connection.input = isSmall ? Buffer.from(bytes.subarray(from)) : bytes.subarray(from);
}

/** Whether the current state has lasted longer than its timeout. */
export function isTimedOut(
  { unsent, awaitingResponse, input, lingers, since }: Connection,
  seconds: number,
): boolean {
  const age = seconds - since;
  if (unsent !== undefined) return age > RESPONSE_SECONDS;
  if (lingers && !awaitingResponse) return age > LINGER_SECONDS;
  return age > (input !== undefined && !awaitingResponse ? REQUEST_SECONDS : IDLE_SECONDS);
}

/** Whether a response is under way, so that closing the connection would lose it. */
export const isBusy = ({ unsent, awaitingResponse, responseBuffered }: Connection): boolean =>
  unsent !== undefined || awaitingResponse || responseBuffered;
