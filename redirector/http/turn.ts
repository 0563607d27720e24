/**
 * A turn of the event loop: collects the responses of all connections, and sends them after all of
 * their clicks are committed together.
 */
import type { Abort, ConnectionErrorReason, ReportError } from "./connection-errors.ts";
import type { Client } from "./connection.ts";
import type { ResponseOptions, ResponseWriter } from "./response-writer.ts";
import type { RedirectorResponse } from "./response.ts";
import { send } from "./socket-io.ts";
import { createEndTurns } from "./waiting-turns.ts";
import { createWriteBuffer } from "./write-buffer.ts";

/**
 * After this time in a turn of the event loop, no more requests are read: all that arrive wait for
 * each other, networks in rotation. Otherwise one request of each of a thousand connections would
 * come before those of others, whatever a request costs.
 */
const TURN_MS = 5;

export type TurnDeps = {
  writer: ResponseWriter;
  /** Writes the clicks of the requests whose responses are sent next. */
  commit: () => void;
  /**
   * Called with the latency of responses that were sent together, in milliseconds, and their
   * number.
   */
  onSent: (latencyMs: number, responses: number) => void;
  onError: ReportError;
  abort: Abort;
  /** Called with each connection that had a turn, when that ends: see {@link createEndTurns}. */
  onEnd: (socket: Client) => void;
};

export type Turn = {
  /**
   * Begins a turn, unless one has begun; it lasts until what has arrived meanwhile is handled.
   * Returns its time, in Unix milliseconds; reads the clock once per turn.
   */
  begin(): number;
  /** When the turn began, by `performance.now()`. */
  startedMs(): number;
  /** Whether a turn has begun that has taken so long that it should end. */
  isLong(): boolean;
  /** Collects a response; closes the connection after it unless it is kept alive. */
  respond(socket: Client, response: RedirectorResponse, options: ResponseOptions): void;
  /** Counts a response to a request of this turn. */
  count(): void;
  /** Closes a connection after its earlier responses; no more requests are read. */
  fail(socket: Client, reason: ConnectionErrorReason, error: unknown): void;
  /**
   * Ends a connection's turn without a response, or before it: what it has sent waits for what
   * others have.
   */
  wait(socket: Client): void;
};

export function createTurn({ writer, commit, onSent, onError, abort, onEnd }: TurnDeps): Turn {
  const writeBuffer = createWriteBuffer<Client>(writer);
  const sendTo = guardSend(abort);
  /** Connections that had a turn. */
  let scheduled: Client[] = [];
  const endTurns = createEndTurns(onEnd);
  const scheduleFlush = oncePerTurn(flush);
  /**
   * Responses of this turn that have not been sent, and when the first of their requests was read.
   */
  let responses = 0;
  let hasBegun = false;
  let startedMs = 0;
  let now = 0;

  /**
   * Commits clicks and sends the write buffer. Reads no further requests: they wait until the turn
   * is over.
   */
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
    // Those that wait begin the next turn: what arrives after them in it waits as long as they did.
    hasBegun = false;
    if (endTurns(sockets)) scheduleFlush();
  }

  function schedule(socket: Client): void {
    if (socket.data.hadTurn) return;
    socket.data.hadTurn = true;
    scheduled.push(socket);
    scheduleFlush();
  }

  function fail(socket: Client, reason: ConnectionErrorReason, error: unknown): void {
    onError(reason, error);
    socket.data.closing = true;
    schedule(socket);
  }

  return {
    begin() {
      if (hasBegun) return now;
      hasBegun = true;
      // Also for requests that have no response yet: what they cost counts.
      scheduleFlush();
      startedMs = performance.now();
      return (now = Date.now());
    },
    startedMs: () => startedMs,
    isLong: () => hasBegun && performance.now() - startedMs >= TURN_MS,
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
    wait: schedule,
  };
}

/**
 * Returns a function that has `run` called at the end of the turn, once, however often it is called
 * in it.
 */
function oncePerTurn(run: () => void): () => void {
  let isScheduled = false;
  function runOnce(): void {
    isScheduled = false;
    run();
  }
  return () => {
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(runOnce);
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
