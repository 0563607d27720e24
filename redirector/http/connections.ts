/**
 * Connections: parses their bytes into requests, passes each to the handler in order, and sends the
 * responses of one turn of the event loop after all of its clicks are committed. No request is read
 * while a response of its connection is awaited or not read by the client. All buffers are bounded,
 * and all states time out.
 * An error closes only the connection in which it occurred: no socket, request or response can make
 * this code throw.
 */
import type { SocketHandler } from "bun";

import { type Abort, createAbort, guard, type ReportError } from "./connection-errors.ts";
import { type Client, type Connection, hasMore, isTimedOut } from "./connection.ts";
import { createInputBuffers } from "./input-buffers.ts";
import { createOpenConnections, type OpenConnectionsDeps } from "./open-connections.ts";
import { receive } from "./receive.ts";
import { createRequestLoop, type ReadRequests, type RequestLoopDeps } from "./request-loop.ts";
import { end, sendUnsent } from "./socket-io.ts";
import { createTurn, type TurnDeps } from "./turn.ts";

export type ConnectionsDeps = Omit<OpenConnectionsDeps, "inputs"> &
  Pick<RequestLoopDeps, "handle" | "bodyBytesMax"> &
  Pick<TurnDeps, "writer" | "commit" | "onSent"> & {
    onError: ReportError;
    /** Bytes of pipelined requests in all connections, for tests. */
    pipelinedBytesMax?: number;
    /** How long a second of the time-outs takes, for tests. */
    secondMs?: number;
  };

const SECOND_MS = 1_000;

export function createConnections(deps: ConnectionsDeps) {
  const { onError } = deps;
  const inputs = createInputBuffers(deps.pipelinedBytesMax);
  const connections = createOpenConnections({ ...deps, inputs });
  const open = connections.all();
  const abort = createAbort(onError, connections.discard);
  const { seconds, stop: stopSweep } = startSweep(open, abort, deps.secondMs);
  const discard = guard(abort, connections.discard);
  let draining = false;

  const turn = createTurn({
    ...deps,
    abort,
    onEnd: guard(abort, (socket) => {
      socket.data.hadTurn = false;
      socket.data.since = seconds();
      socket.data.used = true;
      resume(socket, read);
    }),
  });
  const read = createRequestLoop({
    ...deps,
    turn,
    inputs,
    isOpen: (socket) => open.has(socket),
    isDraining: () => draining,
    seconds,
  });

  const receiveDeps = { connections, inputs, turn, read };
  const handlers: SocketHandler<Connection> = {
    open: guard(abort, (socket) => connections.add(socket, seconds())),
    data(socket, chunk) {
      try {
        receive(socket, chunk, seconds(), receiveDeps);
      } catch (error) {
        abort(socket, error);
      }
    },
    drain: guard(abort, (socket) => {
      const { unsent } = socket.data;
      if (unsent === undefined) return;
      sendUnsent(socket, unsent);
      socket.data.since = seconds();
      if (hasMore(socket.data)) turn.wait(socket);
      else resume(socket, read);
    }),
    end: guard(abort, (socket) => {
      // Requests that have arrived still get their responses.
      socket.data.peerEnded = true;
      if (!socket.data.hadTurn) resume(socket, read);
    }),
    close: discard,
    error(socket, error) {
      onError("socket", error);
      discard(socket);
      socket.terminate();
    },
  };

  return {
    handlers,
    stats: connections.stats,
    /**
     * Closes each connection after its next response; resolves when none is open, or after `ms`.
     */
    async drain(ms: number): Promise<void> {
      draining = true;
      await endAll(open, ms);
      stopSweep();
    },
  };
}

/** Starts the timeout clock, and closes connections whose state has lasted too long. */
function startSweep(open: ReadonlySet<Client>, abort: Abort, secondMs = SECOND_MS) {
  let seconds = 0;
  const closeTimedOut = guard(abort, (socket) => {
    if (isTimedOut(socket.data, seconds)) socket.terminate();
  });
  const timer = setInterval(() => {
    seconds++;
    for (const socket of open) closeTimedOut(socket);
  }, secondMs);
  return { seconds: () => seconds, stop: () => clearInterval(timer) };
}

/** Reads buffered input, or ends the connection when it is complete. */
function resume(socket: Client, read: ReadRequests): void {
  const connection = socket.data;
  if (connection.parsing || connection.awaitingResponse || connection.unsent !== undefined) return;
  if (!connection.closing && connection.input !== undefined) read(socket, connection.input);
  if (connection.awaitingResponse || connection.hadTurn) return;
  if (connection.closing || connection.peerEnded) end(socket);
}

/** Waits until no connection is open, at most `ms`, then ends the remaining ones. */
async function endAll(open: ReadonlySet<Client>, ms: number): Promise<void> {
  const deadline = Date.now() + ms;
  while (open.size > 0 && Date.now() < deadline) await Bun.sleep(20);
  for (const socket of open) socket.end();
}
