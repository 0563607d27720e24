/**
 * The public server: from the bytes of connections to requests, and from responses to bytes. Bytes
 * that arrive are parsed (`#receive`, `#read`), each request is passed to the handler in order
 * (`#handle`), and the responses of one turn of the event loop are sent after all of its clicks are
 * committed (`turn.ts`). A client may pipeline: it sends requests without waiting for the
 * responses. What one connection can cost is bounded:
 *
 * - Order: a request is read only when the response to the previous one is complete and the
 *   client's socket has accepted it (`canRead`). A request for a link in memory is answered at
 *   once, so several requests can be handled in one turn of the event loop.
 * - Share of a turn: in one turn of the event loop a connection gets responses of
 *   `RESPONSE_BYTES_PER_TURN_MAX`, and one more. When the turn has taken its time (`TURN_MS` in
 *   `turn.ts`), nothing more is read in it. What is left over, or arrives then, waits: client
 *   networks take the next turn in rotation, one connection at a time. So a client delays others by
 *   few requests, however many connections it has and whatever its requests cost.
 * - Size of a request: the bytes and fields of a head are bounded (`request-head-parser.ts`); a
 *   larger one is rejected with 431. The only body accepted is a small form. After a rejection the
 *   connection is closed, because it is no longer certain where the next request begins.
 * - Memory (`input-buffers.ts`): while a connection waits for a response or for its next turn, its
 *   socket is paused once more than one request is buffered. What all connections together have
 *   buffered beyond one request each is bounded too; a connection that would exceed this is closed.
 *   Of responses that a client does not read, those of one turn are kept.
 * - Time (`connection.ts`): a request must arrive in time; the time for which it waits behind
 *   earlier responses does not count. The client must read a response in time, and an idle
 *   connection is closed.
 * - Errors: one closes only the connection in which it occurred. No socket, request or response can
 *   make this code throw.
 */
import type { SocketHandler, TCPSocketListener } from "bun";

import { emptySlice } from "../../shared/bytes.ts";
import type { Log } from "../../shared/log.ts";
import { type Config, getTlsFiles } from "../config.ts";
import { readBody } from "./body.ts";
import {
  canRead,
  type Client,
  type Connection,
  end,
  hasMore,
  isTimedOut,
  send,
  sendUnsent,
} from "./connection.ts";
import { InputBuffers } from "./input-buffers.ts";
import { LatencyHistogram } from "./latency.ts";
import { OpenConnections } from "./open-connections.ts";
import { readProxyHeader } from "./proxy-protocol.ts";
import { RequestHeadParser } from "./request-head-parser.ts";
import type { IncomingRequest, RejectionStatus, RequestHandler } from "./request.ts";
import { type RedirectorResponse, rejectionResponse } from "./response.ts";
import { Turn } from "./turn.ts";
import type { RespondedRequest } from "./write-buffer.ts";

/**
 * Bytes of responses of one connection after which no more of its requests are handled in a turn of
 * the event loop: some thirty redirects, or one page. Further ones wait for a later turn, so that
 * thousands of tiny requests that arrive together do not delay other connections for long; and a
 * client that reads no responses makes this process keep hardly more than one.
 */
const RESPONSE_BYTES_PER_TURN_MAX = 8 * 1024;

/** The interval of the timeout clock. */
const SECOND_MS = 1_000;

/** How long connections may stay open after a stop. */
const DRAIN_MS = 2_000;

const CONTINUE = Buffer.from("HTTP/1.1 100 Continue\r\n\r\n");

/** Authenticated encryption, forward secrecy, as all of TLS 1.3; the library's list has CBC. */
const TLS12_CIPHERS = [
  "ECDHE-ECDSA-AES128-GCM-SHA256",
  "ECDHE-RSA-AES128-GCM-SHA256",
  "ECDHE-ECDSA-AES256-GCM-SHA384",
  "ECDHE-RSA-AES256-GCM-SHA384",
  "ECDHE-ECDSA-CHACHA20-POLY1305",
  "ECDHE-RSA-CHACHA20-POLY1305",
].join(":");

export class Server {
  /** Time from reading a request to handing its response to the socket. */
  readonly latency = new LatencyHistogram();
  readonly #handler: RequestHandler;
  readonly #inputs: InputBuffers;
  readonly #connections: OpenConnections;
  readonly #turn: Turn;
  readonly #parser = new RequestHeadParser();
  /** Reused by all requests: each is responded to, or copied, before the next is read. */
  readonly #incoming: IncomingRequest = {
    head: this.#parser.head,
    body: emptySlice(),
    now: 0,
    peer: "",
  };
  readonly #request: RespondedRequest = { method: "", keepAlive: true, now: 0 };
  readonly #listener: TCPSocketListener<Connection>;
  readonly #timer: Timer;
  /** The time of the timeout clock. */
  #seconds = 0;
  #isDraining = false;
  readonly url: URL;

  /**
   * Listens on the configured port, which several processes may share. Tests lower the bound on
   * pipelined bytes, and shorten the seconds of timeouts.
   */
  constructor(
    config: Config,
    handler: RequestHandler,
    log: Log,
    {
      pipelinedBytesMax,
      secondMs = SECOND_MS,
    }: { pipelinedBytesMax?: number; secondMs?: number } = {},
  ) {
    this.#handler = handler;
    this.#inputs = new InputBuffers(pipelinedBytesMax);
    this.#connections = new OpenConnections(config, this.#inputs, log);
    const finishTurn = this.#guarded((socket) => this.#finishTurn(socket));
    this.#turn = new Turn(handler, this.#connections, this.latency, finishTurn);
    const closeTimedOut = this.#guarded((socket) => {
      if (isTimedOut(socket.data, this.#seconds)) socket.terminate();
    });
    this.#timer = setInterval(() => {
      this.#seconds++;
      for (const socket of this.#connections.all) closeTimedOut(socket);
    }, secondMs);
    const tls = getTlsFiles(config);
    const options = {
      hostname: config.REDIRECTOR_HOST,
      port: config.REDIRECTOR_PORT,
      // Supported by Bun, but missing in its types.
      reusePort: config.REDIRECTOR_PORT !== 0,
      allowHalfOpen: true,
      socket: this.#socketHandlers(),
      ...(tls === undefined
        ? {}
        : { tls: { cert: Bun.file(tls.cert), key: Bun.file(tls.key), ciphers: TLS12_CIPHERS } }),
    };
    this.#listener = Bun.listen<Connection>(options);
    const host = options.hostname.includes(":") ? `[${options.hostname}]` : options.hostname;
    this.url = new URL(`${tls === undefined ? "http" : "https"}://${host}:${this.#listener.port}`);
  }

  /** Open connections now; since the start those rejected, evicted, and ended by an error. */
  get connections() {
    return this.#connections.stats;
  }

  /** Closes each connection after its next response, and those that are left after a while. */
  async stop(): Promise<void> {
    this.#listener.stop();
    this.#isDraining = true;
    const open = this.#connections.all;
    const deadline = Date.now() + DRAIN_MS;
    while (open.size > 0 && Date.now() < deadline) await Bun.sleep(20);
    for (const socket of open) socket.end();
    clearInterval(this.#timer);
  }

  #socketHandlers(): SocketHandler<Connection> {
    const connections = this.#connections;
    return {
      open: this.#guarded((socket) => connections.add(socket, this.#seconds)),
      data: (socket, chunk) => {
        try {
          this.#receive(socket, chunk);
        } catch (error) {
          connections.abort(socket, "internal", error);
        }
      },
      drain: this.#guarded((socket) => this.#sendRest(socket)),
      end: this.#guarded((socket) => {
        // Requests that have arrived still get their responses.
        socket.data.peerEnded = true;
        if (!socket.data.hadTurn) this.#resume(socket);
      }),
      close: this.#guarded((socket) => connections.discard(socket)),
      error: (socket, error) => connections.abort(socket, "socket", error),
    };
  }

  /** Wraps an event handler, so that an error aborts only its connection. */
  #guarded(run: (socket: Client) => void): (socket: Client) => void {
    return (socket) => {
      try {
        run(socket);
      } catch (error) {
        this.#connections.abort(socket, "internal", error);
      }
    };
  }

  /** Reads the bytes that have arrived, or buffers them for a later turn. */
  #receive(socket: Client, chunk: Buffer): void {
    const connection = socket.data;
    if (connection.closing) {
      connection.lingers = true;
      return;
    }
    const { input } = connection;
    const bytes = input === undefined ? chunk : Buffer.concat([input, chunk]);
    const rest = connection.awaitingProxyHeader ? this.#readProxyHeader(socket, bytes) : bytes;
    if (rest === undefined) return;
    if (!connection.hadTurn && this.#turn.hasTime()) {
      this.#read(socket, rest);
      return;
    }
    // Other connections, or other networks, come first.
    this.#turn.wait(socket);
    this.#inputs.buffer(socket, rest, 0, this.#seconds);
  }

  /**
   * Reads the PROXY header; closes a connection with an invalid one without a response. Returns the
   * bytes after the header, if there are any.
   */
  #readProxyHeader(socket: Client, bytes: Buffer): Buffer | undefined {
    const header = readProxyHeader(bytes);
    if (header.kind === "rejected") {
      this.#connections.reject(socket, "proxy_header");
      return undefined;
    }
    if (header.kind === "partial") {
      this.#inputs.buffer(socket, bytes, 0, this.#seconds);
      return undefined;
    }
    socket.data.awaitingProxyHeader = false;
    this.#inputs.drop(socket.data);
    if (header.address !== undefined && !this.#connections.setClient(socket, header.address))
      return undefined;
    return header.end < bytes.length ? bytes.subarray(header.end) : undefined;
  }

  /** Handles the requests in `bytes` that may run in this turn, and buffers the rest. */
  #read(socket: Client, bytes: Buffer): void {
    const connection = socket.data;
    const { head, body } = this.#incoming;
    const now = this.#turn.begin();
    connection.parsing = true;
    const bytesBefore = this.#turn.responseBytes;
    let at = 0;
    while (at < bytes.length && canRead(connection) && this.#mayHandle(bytesBefore)) {
      const parsed = this.#parser.parse(bytes, at);
      const isHead = parsed.kind === "complete";
      const end = isHead
        ? readBody(head, bytes, at + head.length, this.#handler.formBytesMax, body)
        : parsed;
      if (typeof end !== "number") {
        if (end.kind === "rejected") this.#reject(socket, end.status, now);
        else if (isHead && head.expectsContinue) requestBody(socket);
        break;
      }
      at = end;
      this.#handle(socket, now);
    }
    this.#inputs.buffer(socket, bytes, at, this.#seconds);
    connection.parsing = false;
  }

  /**
   * Whether a connection may have another request handled in this turn; `bytesBefore` are the bytes
   * of responses before its first one, which it may have in any case.
   */
  #mayHandle(bytesBefore: number): boolean {
    const bytes = this.#turn.responseBytes - bytesBefore;
    return bytes === 0 || (bytes < RESPONSE_BYTES_PER_TURN_MAX && this.#turn.hasTime());
  }

  /** Handles the request that was parsed last; `now` is its time, in Unix milliseconds. */
  #handle(socket: Client, now: number): void {
    const connection = socket.data;
    connection.bodyRequested = false;
    const incoming = this.#incoming;
    incoming.now = now;
    incoming.peer = connection.peer;
    const request = this.#request;
    request.method = incoming.head.method;
    request.keepAlive = incoming.head.keepAlive && !this.#isDraining;
    request.now = now;
    try {
      const response = this.#handler.handle(incoming);
      if (response instanceof Promise) {
        void this.#respondLater(socket, response, { ...request });
        return;
      }
      this.#turn.respond(socket, response, request);
      this.#turn.countResponse();
    } catch (error) {
      this.#turn.fail(socket, "request", error);
    }
  }

  /** Never rejects: an error closes the connection. */
  async #respondLater(
    socket: Client,
    pending: Promise<RedirectorResponse>,
    request: RespondedRequest,
  ): Promise<void> {
    const connection = socket.data;
    const { startedMs } = this.#turn;
    connection.awaitingResponse = true;
    // The client is idle no longer, whatever it did before.
    connection.since = this.#seconds;
    try {
      const response = await pending;
      connection.awaitingResponse = false;
      if (!this.#connections.all.has(socket)) return;
      this.#turn.respond(socket, response, request);
      this.latency.observe(performance.now() - startedMs, 1);
    } catch (error) {
      connection.awaitingResponse = false;
      this.#turn.fail(socket, "request", error);
    }
  }

  /** Sends the last response of a connection: its further bytes cannot be trusted. */
  #reject(socket: Client, status: RejectionStatus, now: number): void {
    socket.data.lingers = true;
    const request = { method: "GET", keepAlive: false, now };
    this.#turn.respond(socket, rejectionResponse(status), request);
  }

  #sendRest(socket: Client): void {
    const { unsent } = socket.data;
    if (unsent === undefined) return;
    sendUnsent(socket, unsent);
    socket.data.since = this.#seconds;
    if (hasMore(socket.data)) this.#turn.wait(socket);
    else this.#resume(socket);
  }

  #finishTurn(socket: Client): void {
    socket.data.hadTurn = false;
    socket.data.since = this.#seconds;
    socket.data.used = true;
    this.#resume(socket);
  }

  /** Reads buffered input, or ends the connection when it is complete. */
  #resume(socket: Client): void {
    const connection = socket.data;
    if (connection.parsing || connection.awaitingResponse || connection.unsent !== undefined)
      return;
    if (!connection.closing && connection.input !== undefined) this.#read(socket, connection.input);
    if (connection.awaitingResponse || connection.hadTurn) return;
    if (connection.closing || connection.peerEnded) end(socket);
  }
}

/** Asks once for the body that a client holds back (RFC 9110 §10.1.1), after all responses. */
function requestBody(socket: Client): void {
  const connection = socket.data;
  if (connection.bodyRequested || connection.hadTurn) return;
  connection.bodyRequested = true;
  send(socket, CONTINUE, 0, CONTINUE.length);
}
