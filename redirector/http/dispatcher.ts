/** Passes the parsed request of a connection to the handler, and its response to the turn. */
import { emptySlice } from "../../shared/bytes.ts";
import type { Client } from "./connection.ts";
import type { RequestHead } from "./request-head.ts";
import type { Handler, IncomingRequest } from "./request.ts";
import type { ResponseOptions } from "./response-writer.ts";
import type { RedirectorResponse } from "./response.ts";
import type { Turn } from "./turn.ts";

export type DispatcherDeps = {
  handle: Handler;
  /** The head of the parser, which it reuses. */
  head: RequestHead;
  turn: Turn;
  isOpen: (socket: Client) => boolean;
  /** Whether each connection closes after its next response. */
  isDraining: () => boolean;
  /** As in {@link Turn}. */
  onSent: (latencyMs: number, responses: number) => void;
};

export function createDispatcher(deps: DispatcherDeps) {
  const { handle, head, isOpen, isDraining, onSent } = deps;
  const { respond, count, fail, startedMs: turnStartedMs } = deps.turn;
  // Reused by all requests: the handler responds to each, or copies it, before the next is parsed.
  const incoming: IncomingRequest = { head, body: emptySlice(), now: 0, peer: "" };
  const currentOptions: ResponseOptions = { method: "", keepAlive: true, now: 0 };

  /** Never rejects: an error closes the connection. */
  async function respondLater(
    socket: Client,
    pending: Promise<RedirectorResponse>,
    options: ResponseOptions,
  ): Promise<void> {
    const connection = socket.data;
    const startedMs = turnStartedMs();
    connection.awaitingResponse = true;
    try {
      const response = await pending;
      connection.awaitingResponse = false;
      if (!isOpen(socket)) return;
      respond(socket, response, options);
      onSent(performance.now() - startedMs, 1);
    } catch (error) {
      connection.awaitingResponse = false;
      fail(socket, "request", error);
    }
  }

  return {
    /** The buffer for the body of the next request. */
    body: incoming.body,
    /**
     * Handles the request whose head and body were parsed last; `now` is its time, in Unix
     * milliseconds.
     */
    dispatch(socket: Client, now: number): void {
      const connection = socket.data;
      connection.bodyRequested = false;
      incoming.now = now;
      incoming.peer = connection.peer;
      currentOptions.method = head.method;
      currentOptions.keepAlive = head.keepAlive && !isDraining();
      currentOptions.now = now;
      try {
        const response = handle(incoming);
        if (response instanceof Promise) {
          void respondLater(socket, response, { ...currentOptions });
          return;
        }
        respond(socket, response, currentOptions);
        count();
      } catch (error) {
        fail(socket, "request", error);
      }
    },
  };
}
