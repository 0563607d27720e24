/** Reads the requests in the bytes of a connection, and passes each to the dispatcher in order. */
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
