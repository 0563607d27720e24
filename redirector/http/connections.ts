/**
 * Connections: parses their bytes into requests, passes each to the handler in order, and sends the responses of one
 * turn of the event loop after all of its clicks are committed. No request is read while a response of its
 * connection is awaited or not read by the client. All buffers are bounded, and all states time out.
 *
 * An error closes only the connection in which it occurred: no socket, request or response can make this code throw.
 */
import type { Socket, SocketHandler } from "bun";

import { emptySlice } from "../../shared/bytes.ts";
import type { Handler, IncomingRequest } from "../handler.ts";
import { readBody } from "./body.ts";
import { type ConnectionCaps, REJECTION_REASONS, type RejectionReason } from "./connection-caps.ts";
import {
  bufferInput,
  canRead,
  type Connection,
  createConnection,
  INPUT_BYTES_MAX,
  isBusy,
  isTimedOut,
} from "./connection.ts";
import { readProxyHeader } from "./proxy-protocol.ts";
import { createRequestHeadParser } from "./request-head-parser.ts";
import {
  type RedirectorResponse,
  rejectionResponse,
  type ResponseOptions,
  type ResponseWriter,
} from "./response-writer.ts";
import { createWriteBuffer } from "./write-buffer.ts";

export type ConnectionsDeps = {
  handle: Handler;
  writer: ResponseWriter;
  /** Writes the clicks of the requests whose responses are about to be sent. */
  commit: () => void;
  /** The most bytes of a body. */
  bodyBytesMax: number;
  /** The most open connections; a further one takes the place of an idle one, or is closed at once. */
  connectionsMax: number;
  /** The caps on connections of one client. */
  caps: ConnectionCaps;
  /** Whether each connection begins with a PROXY header. */
  proxyProtocol: boolean;
  /** Normalizes a peer's address. */
  normalizeAddress: (peer: string) => string;
  /** Called with the latency of responses that were sent together, in milliseconds, and their number. */
  onSent: (latencyMs: number, responses: number) => void;
  /** Called with every error; except for an error in `commit`, its connection is closed afterwards. */
  onError: (reason: ConnectionErrorReason, error: unknown) => void;
};

/**
 * Where an error occurred: in the socket, in the handler of a request, in a response that does not fit into the write
 * buffer, in the commit of clicks, or in this code.
 */
export const CONNECTION_ERROR_REASONS = [
  "socket",
  "request",
  "response",
  "commit",
  "internal",
] as const;

export type ConnectionErrorReason = (typeof CONNECTION_ERROR_REASONS)[number];

const SWEEP_MS = 1_000;

const CONTINUE = Buffer.from("HTTP/1.1 100 Continue\r\n\r\n");

/**
 * Requests of one connection that are handled in one turn of the event loop; further ones wait for the next turn, so
 * that a read full of tiny requests (thousands fit into one) does not delay other connections for long.
 */
const REQUESTS_PER_TURN_MAX = 32;

/**
 * Once a turn of the event loop has taken this long, each connection gets one more request, not all of those above:
 * what rules look at can make a request cost a hundred times as much as others.
 */
const TURN_MS = 5;

/** The most connections that get a second chance before one is closed to make room for a new one. */
const EVICTION_ATTEMPTS_MAX = 8;

type Client = Socket<Connection>;

export function createConnections(deps: ConnectionsDeps) {
  const {
    handle,
    writer,
    commit,
    bodyBytesMax,
    connectionsMax,
    caps,
    proxyProtocol,
    normalizeAddress,
    onSent,
    onError,
  } = deps;
  const open = new Set<Client>();
  const writeBuffer = createWriteBuffer<Client>(writer);
  // Reused by all requests: the handler responds to each, or copies it, before the next is parsed.
  const { head, parse } = createRequestHeadParser();
  const incoming: IncomingRequest = { head, body: emptySlice(), now: 0, peer: "" };
  const currentOptions: ResponseOptions = { method: "", keepAlive: true, now: 0 };
  const rejected: Record<RejectionReason, number> = emptyCounts(REJECTION_REASONS);
  let evicted = 0;
  /** Connections with a response in this turn of the event loop. */
  let scheduled: Client[] = [];
  /** Responses of this turn that have not been sent, and when the first of their requests was read. */
  let turnResponses = 0;
  let turnStartedMs = 0;
  /** The clock of timeouts. */
  let seconds = 0;
  let now = 0;
  let draining = false;

  function read(socket: Client, bytes: Buffer): void {
    const connection = socket.data;
    // Reads the clock once per turn.
    if (turnResponses === 0) {
      now = Date.now();
      turnStartedMs = performance.now();
    }
    connection.parsing = true;
    let at = 0;
    let requests = 0;
    while (at < bytes.length && hasTurn(requests) && canRead(connection)) {
      const parsed = parse(bytes, at);
      const isHead = parsed.kind === "complete";
      const end = isHead
        ? readBody(head, bytes, at + head.length, bodyBytesMax, incoming.body)
        : parsed;
      if (typeof end !== "number") {
        if (end.kind === "rejected") rejectRequest(socket, end.status);
        else if (isHead && head.expectsContinue) requestBody(socket);
        break;
      }
      at = end;
      requests++;
      handleRequest(socket);
    }
    bufferRest(socket, bytes, at);
    connection.parsing = false;
  }

  /** Whether a connection of which so many requests were handled in this turn gets another one; the clock is read for few. */
  const hasTurn = (requests: number): boolean =>
    requests === 0 ||
    (requests < REQUESTS_PER_TURN_MAX && performance.now() - turnStartedMs < TURN_MS);

  /** Buffers the rest of the input for a later turn; pauses the socket while there is much of it. */
  function bufferRest(socket: Client, bytes: Buffer, from: number): void {
    const connection = socket.data;
    bufferInput(connection, bytes, from, seconds);
    const shouldPause =
      connection.responseBuffered && (connection.input?.length ?? 0) > INPUT_BYTES_MAX;
    if (shouldPause === connection.paused) return;
    connection.paused = shouldPause;
    if (shouldPause) socket.pause();
    else socket.resume();
  }

  function onData(socket: Client, chunk: Buffer): void {
    const { input, closing, awaitingProxyHeader, responseBuffered } = socket.data;
    if (closing) {
      socket.data.lingers = true;
      return;
    }
    const bytes = input === undefined ? chunk : Buffer.concat([input, chunk]);
    if (awaitingProxyHeader) applyProxyHeader(socket, bytes);
    // It has had its turn; other connections come first.
    else if (responseBuffered) bufferRest(socket, bytes, 0);
    else read(socket, bytes);
  }

  /** Reads the PROXY header; a connection with an invalid one is closed without a response. */
  function applyProxyHeader(socket: Client, bytes: Buffer): void {
    const header = readProxyHeader(bytes);
    if (header.kind === "rejected") {
      reject(socket, "proxy_header");
      return;
    }
    if (header.kind === "partial") {
      bufferRest(socket, bytes, 0);
      return;
    }
    const connection = socket.data;
    connection.awaitingProxyHeader = false;
    connection.input = undefined;
    if (header.address !== undefined) {
      connection.peer = normalizeAddress(header.address);
      if (!countUnderCaps(socket)) return;
    }
    if (header.end < bytes.length) read(socket, bytes.subarray(header.end));
  }

  function reject(socket: Client, reason: RejectionReason): void {
    rejected[reason]++;
    socket.terminate();
  }

  /**
   * Closes an idle connection to make room; returns false when there is none among those that are looked at. The oldest
   * come first, and those with a request since they were last looked at get a second chance, as in CLOCK.
   */
  function evictIdle(): boolean {
    let victim: Client | undefined;
    let attempts = 0;
    for (const socket of open) {
      const isIdle = !isBusy(socket.data);
      if (isIdle) victim ??= socket;
      if (isIdle && !socket.data.used) {
        victim = socket;
        break;
      }
      if (++attempts > EVICTION_ATTEMPTS_MAX) break;
      socket.data.used = false;
      open.delete(socket);
      open.add(socket);
    }
    if (victim === undefined) return false;
    evicted++;
    onClose(victim);
    victim.terminate();
    return true;
  }

  /** Counts a connection under its client's caps; rejects it and returns false when a cap is reached. */
  function countUnderCaps(socket: Client): boolean {
    const acquired = caps.acquire(socket.data.peer);
    if (typeof acquired === "string") {
      reject(socket, acquired);
      return false;
    }
    socket.data.groups = acquired;
    return true;
  }

  /** Sends the last response of a connection, whose further bytes cannot be trusted. */
  function rejectRequest(socket: Client, status: Parameters<typeof rejectionResponse>[0]): void {
    currentOptions.method = "GET";
    currentOptions.keepAlive = false;
    currentOptions.now = now;
    socket.data.lingers = true;
    respond(socket, rejectionResponse(status), currentOptions);
  }

  /** Asks a client for the body that it holds back (RFC 9110 §10.1.1), once, and after all earlier responses. */
  function requestBody(socket: Client): void {
    const connection = socket.data;
    if (connection.bodyRequested || connection.responseBuffered) return;
    connection.bodyRequested = true;
    sendTo(socket, CONTINUE, 0, CONTINUE.length);
  }

  function handleRequest(socket: Client): void {
    const connection = socket.data;
    connection.bodyRequested = false;
    incoming.now = now;
    incoming.peer = connection.peer;
    currentOptions.method = head.method;
    currentOptions.keepAlive = head.keepAlive && !draining;
    currentOptions.now = now;
    try {
      const response = handle(incoming);
      if (response instanceof Promise) void respondLater(socket, response, { ...currentOptions });
      else respondNow(socket, response);
    } catch (error) {
      fail(socket, "request", error);
    }
  }

  function respondNow(socket: Client, response: RedirectorResponse): void {
    respond(socket, response, currentOptions);
    turnResponses++;
  }

  /** Never rejects: an error closes the connection. */
  async function respondLater(
    socket: Client,
    pending: Promise<RedirectorResponse>,
    options: ResponseOptions,
  ): Promise<void> {
    const connection = socket.data;
    const startedMs = turnStartedMs;
    connection.awaitingResponse = true;
    try {
      const response = await pending;
      connection.awaitingResponse = false;
      if (!open.has(socket)) return;
      respond(socket, response, options);
      onSent(performance.now() - startedMs, 1);
    } catch (error) {
      connection.awaitingResponse = false;
      fail(socket, "request", error);
    }
  }

  function respond(socket: Client, response: RedirectorResponse, options: ResponseOptions): void {
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
  }

  /** Closes a connection after its earlier responses; no more requests are read. */
  function fail(socket: Client, reason: ConnectionErrorReason, error: unknown): void {
    onError(reason, error);
    socket.data.closing = true;
    schedule(socket);
  }

  /** Closes a connection at once, after an error that leaves its state unknown. */
  function abort(socket: Client, error: unknown): void {
    onError("internal", error);
    onClose(socket);
    socket.terminate();
  }

  /** Wraps an event handler, so that an error closes only its connection. */
  const guarded =
    (run: (socket: Client) => void) =>
    (socket: Client): void => {
      try {
        run(socket);
      } catch (error) {
        abort(socket, error);
      }
    };

  /** Sends the connection's responses at the end of the turn, so that clicks of all connections are written together. */
  function schedule(socket: Client): void {
    if (socket.data.responseBuffered) return;
    socket.data.responseBuffered = true;
    scheduled.push(socket);
    if (scheduled.length === 1) setImmediate(flush);
  }

  function flush(): void {
    commitAndSend();
    const sockets = scheduled;
    scheduled = [];
    for (const socket of sockets) endTurn(socket);
  }

  /** Commits clicks and sends the write buffer. Reads no further requests: they wait until the turn is over. */
  function commitAndSend(): void {
    try {
      commit();
    } catch (error) {
      // Redirects are sent even if their clicks cannot be written.
      onError("commit", error);
    }
    writeBuffer.send(sendTo);
    if (turnResponses === 0) return;
    onSent(performance.now() - turnStartedMs, turnResponses);
    turnResponses = 0;
  }

  function sendTo(socket: Client, bytes: Buffer, start: number, end: number): void {
    try {
      const connection = socket.data;
      const length = end - start;
      if (connection.unsent !== undefined) {
        connection.unsent = Buffer.concat([connection.unsent, bytes.subarray(start, end)]);
        return;
      }
      const written = socket.write(bytes, start, length);
      if (written >= 0 && written < length) {
        connection.unsent = Buffer.from(bytes.subarray(start + written, end));
      }
    } catch (error) {
      abort(socket, error);
    }
  }

  const endTurn = guarded((socket) => {
    socket.data.responseBuffered = false;
    socket.data.since = seconds;
    socket.data.used = true;
    resume(socket);
  });

  /** Reads buffered input, or ends the connection when it is complete. */
  function resume(socket: Client): void {
    const connection = socket.data;
    if (connection.parsing || connection.awaitingResponse || connection.unsent !== undefined)
      return;
    if (!connection.closing && connection.input !== undefined) read(socket, connection.input);
    if (connection.awaitingResponse || connection.responseBuffered) return;
    if (connection.closing || connection.peerEnded) end(socket);
  }

  /** Ends a connection; only its sending side while the client may still be sending: see `LINGER_SECONDS`. */
  function end(socket: Client): void {
    const { lingers, peerEnded } = socket.data;
    if (lingers && !peerEnded) socket.shutdown();
    else socket.end();
  }

  /** Discards the state of a closed connection. */
  function onClose(socket: Client): void {
    // A connection that was rejected, or failed before it was open, is not counted.
    if (!open.delete(socket)) return;
    const connection = socket.data;
    connection.closing = true;
    connection.input = undefined;
    connection.unsent = undefined;
    if (connection.groups !== undefined) caps.release(connection.groups);
    connection.groups = undefined;
  }

  const closeTimedOut = guarded((socket) => {
    if (isTimedOut(socket.data, seconds)) socket.terminate();
  });

  const sweep = setInterval(() => {
    seconds++;
    for (const socket of open) closeTimedOut(socket);
  }, SWEEP_MS);

  const handlers: SocketHandler<Connection> = {
    open: guarded((socket) => {
      socket.data = createConnection(
        normalizeAddress(socket.remoteAddress),
        proxyProtocol,
        seconds,
      );
      if (open.size >= connectionsMax && !evictIdle()) {
        reject(socket, "total");
      } else if (proxyProtocol || countUnderCaps(socket)) {
        open.add(socket);
      }
    }),
    data(socket, chunk) {
      try {
        onData(socket, chunk);
      } catch (error) {
        abort(socket, error);
      }
    },
    drain: guarded((socket) => {
      const { unsent } = socket.data;
      if (unsent === undefined) return;
      const written = Math.max(0, socket.write(unsent));
      socket.data.unsent = written < unsent.length ? unsent.subarray(written) : undefined;
      socket.data.since = seconds;
      resume(socket);
    }),
    end: guarded((socket) => {
      // Requests that have arrived still get their responses.
      socket.data.peerEnded = true;
      if (!socket.data.responseBuffered) resume(socket);
    }),
    close: guarded(onClose),
    error(socket, error) {
      onError("socket", error);
      guarded(onClose)(socket);
      socket.terminate();
    },
  };

  return {
    handlers,
    stats: () => ({ open: open.size, rejected, evicted }),
    /** Closes each connection after its next response; resolves when none is open, or after `ms`. */
    async drain(ms: number): Promise<void> {
      draining = true;
      const deadline = Date.now() + ms;
      while (open.size > 0 && Date.now() < deadline) await Bun.sleep(20);
      for (const socket of open) socket.end();
      clearInterval(sweep);
    },
  };
}

const emptyCounts = <Reason extends string>(reasons: readonly Reason[]): Record<Reason, number> =>
  // The type of Object.fromEntries loses the names of `reasons`.
  Object.fromEntries(reasons.map((reason) => [reason, 0])) as Record<Reason, number>;
