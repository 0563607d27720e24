/** Errors of connections: each ends only the connection in which it occurred. */
import type { Client } from "./connection.ts";

/**
 * Where an error occurred: in the socket, in the handler of a request, in a response that does not
 * fit into the write buffer, in the commit of clicks, or in this code.
 */
export const CONNECTION_ERROR_REASONS = [
  "socket",
  "request",
  "response",
  "commit",
  "internal",
] as const;

export type ConnectionErrorReason = (typeof CONNECTION_ERROR_REASONS)[number];

/** Reports an error; except for one in `commit`, its connection is closed afterwards. */
export type ReportError = (reason: ConnectionErrorReason, error: unknown) => void;

/** Closes a connection at once, after an error that leaves its state unknown. */
export type Abort = (socket: Client, error: unknown) => void;

/** Creates `abort`; `discard` discards the state of a connection. */
export const createAbort =
  (onError: ReportError, discard: (socket: Client) => void): Abort =>
  (socket, error) => {
    onError("internal", error);
    discard(socket);
    socket.terminate();
  };

/** Wraps an event handler, so that an error aborts only its connection. */
export const guard =
  (abort: Abort, run: (socket: Client) => void) =>
  (socket: Client): void => {
    try {
      run(socket);
    } catch (error) {
      abort(socket, error);
    }
  };
