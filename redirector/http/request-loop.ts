/**
 * Parses the requests that arrive on a connection, and passes each to the dispatcher in order. A
 * client may pipeline: it sends requests without waiting for the responses. What one connection can
 * cost is bounded:
 *
 * - Order: a request is read only when the response to the previous one is complete and the
 *   client's socket has accepted it (`canRead`). A request for a link in memory is answered at
 *   once, so several requests can be handled in one turn of the event loop.
 * - Share of a turn: a connection gets at most `REQUESTS_PER_TURN_MAX` responses in one turn of the
 *   event loop. When the turn has taken its time (`TURN_MS` in `turn.ts`), nothing more is read in
 *   it. What is left over, or arrives then, waits: client networks take the next turn in rotation
 *   (`waiting-turns.ts`), one connection at a time. So a client delays others by one request at
 *   most, however many connections it has and whatever its requests cost.
 * - Size of a request: the bytes and fields of a head are bounded (`request-head-parser.ts`); a
 *   larger one is rejected with 431. The only body accepted is a small form. After a rejection the
 *   connection is closed, because it is no longer certain where the next request begins.
 * - Memory (`input-buffers.ts`): while a connection waits for a response or for the rest of a
 *   request, little of its input is buffered; a client that sends more is disconnected. If the
 *   input only waits for the connection's next turn, the socket is paused instead. What all
 *   connections together have buffered beyond one request each is bounded too; a connection that
 *   would exceed this is closed.
 * - Time (`connection.ts`): a request must arrive in time; the time for which it waits behind
 *   earlier responses does not count. The client must read a response in time, and an idle
 *   connection is closed.
 */
import { readBody } from "./body.ts";
import { canRead, type Client } from "./connection.ts";
import { createDispatcher, type DispatcherDeps } from "./dispatcher.ts";
import type { InputBuffers } from "./input-buffers.ts";
import { createRequestHeadParser } from "./request-head-parser.ts";
import type { RejectionStatus } from "./request-head.ts";
import { rejectionResponse } from "./response-writer.ts";
import { send } from "./socket-io.ts";

/**
 * Maximum requests of one connection that are handled in one turn of the event loop. Further ones
 * wait for a later turn, so that thousands of tiny requests that arrive together do not delay other
 * connections for long.
 */
const REQUESTS_PER_TURN_MAX = 32;

const CONTINUE = Buffer.from("HTTP/1.1 100 Continue\r\n\r\n");

export type RequestLoopDeps = Omit<DispatcherDeps, "head"> & {
  /** Maximum bytes of a body. */
  bodyBytesMax: number;
  inputs: Pick<InputBuffers, "buffer">;
  /** The time of the clock of timeouts, in seconds. */
  seconds: () => number;
};

/** Handles the requests in `bytes` that may run in this turn, and buffers the rest. */
export type ReadRequests = (socket: Client, bytes: Buffer) => void;

export function createRequestLoop(deps: RequestLoopDeps): ReadRequests {
  const { turn, bodyBytesMax, inputs, seconds } = deps;
  const { head, parse } = createRequestHeadParser();
  const { body, dispatch } = createDispatcher({ ...deps, head });

  /**
   * Whether a connection may handle another request in this turn, after `requests` of them. Rarely
   * reads the clock.
   */
  const hasTurn = (requests: number): boolean =>
    requests === 0 || (requests < REQUESTS_PER_TURN_MAX && !turn.isLong());

  /** Sends the last response of a connection: its further bytes cannot be trusted. */
  function rejectRequest(socket: Client, status: RejectionStatus, now: number): void {
    socket.data.lingers = true;
    turn.respond(socket, rejectionResponse(status), { method: "GET", keepAlive: false, now });
  }

  return (socket, bytes) => {
    const connection = socket.data;
    const now = turn.begin();
    connection.parsing = true;
    let at = 0;
    let requests = 0;
    while (at < bytes.length && hasTurn(requests) && canRead(connection)) {
      const parsed = parse(bytes, at);
      const isHead = parsed.kind === "complete";
      const end = isHead ? readBody(head, bytes, at + head.length, bodyBytesMax, body) : parsed;
      if (typeof end !== "number") {
        if (end.kind === "rejected") rejectRequest(socket, end.status, now);
        else if (isHead && head.expectsContinue) requestBody(socket);
        break;
      }
      at = end;
      requests++;
      dispatch(socket, now);
    }
    inputs.buffer(socket, bytes, at, seconds());
    connection.parsing = false;
  };
}

/**
 * Asks a client for the body that it holds back (RFC 9110 §10.1.1), once, and after all earlier
 * responses.
 */
function requestBody(socket: Client): void {
  const connection = socket.data;
  if (connection.bodyRequested || connection.hadTurn) return;
  connection.bodyRequested = true;
  send(socket, CONTINUE, 0, CONTINUE.length);
}
