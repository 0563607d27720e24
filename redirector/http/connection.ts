/** The state of one connection, and its limits of time and memory. */
import type { Socket } from "bun";

import type { AddressGroups } from "../../shared/address-group.ts";

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
  /**
   * Whether it has had its turn: others come first, until its responses are sent and its next turn
   * comes.
   */
  hadTurn: boolean;
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
  hadTurn: false,
  paused: false,
  used: false,
  since: seconds,
});

/** Whether the next request may be read. */
export const canRead = ({ awaitingResponse, closing, unsent }: Connection): boolean =>
  !awaitingResponse && !closing && unsent === undefined;

/** Whether more has arrived that may be read. */
export const hasMore = (connection: Connection): boolean =>
  connection.input !== undefined && canRead(connection);

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
export const isBusy = ({ unsent, awaitingResponse, hadTurn }: Connection): boolean =>
  unsent !== undefined || awaitingResponse || hadTurn;
