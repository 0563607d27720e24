/**
 * Reads the requests in the bytes of a connection, and passes each to the dispatcher in order. A
 * client may pipeline: it sends requests without waiting for the responses. These are the bounds:
 *
 * - Order: the next request is read only when the response to the one before is complete and the
 *   client's socket has accepted it (`canRead`). The response to a link in memory is complete at
 *   once, so several requests can be handled in one turn of the event loop.
 * - Share of a turn: a connection gets `REQUESTS_PER_TURN_MAX` responses, but only one once the turn
 *   has taken 5 ms (`TURN_MS = 5` in `turn.ts`). The other requests wait for a later turn. Connections
 *   whose next requests have arrived already share 5 ms of a turn (`WAITING_MS = 5` in
 *   `waiting-turns.ts`), and networks take turns in them. So a client that pipelines delays others
 *   that pipeline, not those that send one request at a time.
 * - Size of a request: a head has 16 KiB (`HEAD_BYTES_MAX = 16 * 1024`) and 100 fields
 *   (`FIELDS_MAX = 100`), and more is rejected with 431. Only a form of 2 KiB can be posted
 *   (`FORM_BYTES_MAX = 2_048`). After a rejection the connection is closed, because its further
 *   bytes cannot be trusted.
 * - Memory: of a connection that waits for a response or for the rest of a request, 64 KiB of input
 *   are buffered (`INPUT_BYTES_MAX = 64 * 1024`); a client that sends more is disconnected. If the
 *   input only waits for the connection's next turn, the socket is paused instead. The pipelined
 *   input of all connections is 64 MiB at most (`PIPELINED_BYTES_MAX = 64 * 1024 * 1024`); the
 *   connection that would exceed it is closed.
 * - Time: a request must arrive within 5 s (`REQUEST_SECONDS = 5`), and the client must read a
 *   response within 30 s (`RESPONSE_SECONDS = 30`).
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
 * wait for the next turn, so that a read full of tiny requests (thousands fit into one) does not
 * delay other connections for long.
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
