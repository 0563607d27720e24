/**
 * A turn of the event loop: collects the responses of all connections, and sends them after all of
 * their clicks are committed together.
 */
import type { Abort, ConnectionErrorReason, ReportError } from "./connection-errors.ts";
import type { Client } from "./connection.ts";
import type { ResponseOptions, ResponseWriter } from "./response-writer.ts";
import type { RedirectorResponse } from "./response.ts";
import { send } from "./socket-io.ts";
import { createWriteBuffer } from "./write-buffer.ts";

/**
 * After this time in a turn of the event loop, each connection gets only one more request, not its
 * full share: rules can make a request cost a hundred times as much as others.
 */
const TURN_MS = 5;

export type TurnDeps = {
  writer: ResponseWriter;
  /** Writes the clicks of the requests whose responses are sent next. */
  commit: () => void;
  /** Called with the latency of responses that were sent together, in milliseconds, and their number. */
  onSent: (latencyMs: number, responses: number) => void;
  onError: ReportError;
  abort: Abort;
  /** Called at the end of a turn with each connection that had a response in it. */
  onEnd: (socket: Client) => void;
};

export type Turn = {
  /**
   * Begins a turn, unless one has begun. Returns its time, in Unix milliseconds; reads the clock
   * once per turn.
   */
  begin(): number;
  /** When the turn began, by `performance.now()`. */
  startedMs(): number;
  /** Whether the turn has taken so long that it should end. */
  isLong(): boolean;
  /** Collects a response; closes the connection after it unless it is kept alive. */
  respond(socket: Client, response: RedirectorResponse, options: ResponseOptions): void;
  /** Counts a response to a request of this turn. */
  count(): void;
  /** Closes a connection after its earlier responses; no more requests are read. */
  fail(socket: Client, reason: ConnectionErrorReason, error: unknown): void;
};

export function createTurn({ writer, commit, onSent, onError, abort, onEnd }: TurnDeps): Turn {
  const writeBuffer = createWriteBuffer<Client>(writer);
  const sendTo = guardSend(abort);
  /** Connections with a response in this turn. */
  let scheduled: Client[] = [];
  /**
   * Responses of this turn that have not been sent, and when the first of their requests was read.
   */
  let responses = 0;
  let startedMs = 0;
  let now = 0;

  /** Commits clicks and sends the write buffer. Reads no further requests: they wait until the turn is over. */
  function commitAndSend(): void {
    try {
      commit();
    } catch (error) {
      // Redirects are sent even if their clicks cannot be written.
      onError("commit", error);
    }
    writeBuffer.send(sendTo);
    if (responses === 0) return;
    onSent(performance.now() - startedMs, responses);
    responses = 0;
  }

  function flush(): void {
    commitAndSend();
    const sockets = scheduled;
    scheduled = [];
    for (const socket of sockets) onEnd(socket);
  }

  function schedule(socket: Client): void {
    if (socket.data.responseBuffered) return;
    socket.data.responseBuffered = true;
    scheduled.push(socket);
    if (scheduled.length === 1) setImmediate(flush);
  }

  function fail(socket: Client, reason: ConnectionErrorReason, error: unknown): void {
    onError(reason, error);
    socket.data.closing = true;
    schedule(socket);
  }

  return {
    begin() {
      if (responses > 0) return now;
      startedMs = performance.now();
      return (now = Date.now());
    },
    startedMs: () => startedMs,
    isLong: () => performance.now() - startedMs >= TURN_MS,
    respond(socket, response, options) {
      if (!writeBuffer.add(socket, response, options)) {
        // The buffer is full: sends its contents first.
        commitAndSend();
        if (!writeBuffer.add(socket, response, options)) {
          fail(socket, "response", new Error("A response is longer than the buffer."));
          return;
        }
      }
      if (!options.keepAlive) socket.data.closing = true;
      schedule(socket);
    },
    count: () => void responses++,
    fail,
  };
}

/** Wraps a send function, so that an error aborts only the connection whose socket failed. */
const guardSend =
  (abort: Abort): typeof send =>
  (socket, bytes, start, end) => {
    try {
      send(socket, bytes, start, end);
    } catch (error) {
      abort(socket, error);
    }
  };
