/**
 * A turn of the event loop: collects the responses of all connections, and sends them after all of
 * their clicks are committed together. Then each connection that had a turn may have another one,
 * once those have had theirs that have waited for longer.
 */
import { type Client, hasMore, send } from "./connection.ts";
import type { LatencyHistogram } from "./latency.ts";
import type { ConnectionErrorReason, OpenConnections } from "./open-connections.ts";
import type { RequestHandler } from "./request.ts";
import type { RedirectorResponse } from "./response.ts";
import { type RespondedRequest, WriteBuffer } from "./write-buffer.ts";

/**
 * After this time in a turn of the event loop, no more requests are read: all that arrive wait for
 * each other, networks in rotation. Otherwise one request of each of a thousand connections would
 * come before those of others, whatever a request costs.
 */
const TURN_MS = 5;

/**
 * Maximum requests of a turn between two readings of the clock: reading it for each would make a
 * redirect several percent dearer. So many of the costliest requests take about as long as a turn.
 */
const UNTIMED_MAX = 8;

export class Turn {
  readonly #handler: RequestHandler;
  readonly #connections: OpenConnections;
  readonly #latency: LatencyHistogram;
  readonly #waiting: WaitingConnections;
  readonly #buffer = new WriteBuffer<Client>();
  /** Connections that had a turn. */
  #scheduled: Client[] = [];
  #isFlushScheduled = false;
  #hasBegun = false;
  #isLong = false;
  #startedMs = 0;
  #now = 0;
  /** Requests of this turn, and the number at which the clock is read next. */
  #requests = 0;
  #timedAt = 0;
  /** Responses of this turn that have not been sent. */
  #responses = 0;

  /** `finishTurn` is called with each connection whose turn is over: it may have another one. */
  constructor(
    handler: RequestHandler,
    connections: OpenConnections,
    latency: LatencyHistogram,
    finishTurn: (socket: Client) => void,
  ) {
    this.#handler = handler;
    this.#connections = connections;
    this.#latency = latency;
    this.#waiting = new WaitingConnections(finishTurn);
  }

  /**
   * Begins a turn, unless one has begun; it lasts until what has arrived meanwhile is handled.
   * Returns its time, in Unix milliseconds; reads the clock once per turn.
   */
  begin(): number {
    if (this.#hasBegun) return this.#now;
    this.#hasBegun = true;
    this.#isLong = false;
    this.#requests = 0;
    this.#timedAt = 0;
    // Also for requests that have no response yet: what they cost counts.
    this.#scheduleFlush();
    this.#startedMs = performance.now();
    return (this.#now = Date.now());
  }

  /** When the turn began, by `performance.now()`. */
  get startedMs(): number {
    return this.#startedMs;
  }

  /**
   * Whether a further request may be read in this turn: not once it has taken its time. Reads the
   * clock after the first request, after twice as many each time, and then at intervals.
   */
  hasTime(): boolean {
    if (!this.#hasBegun) return true;
    if (this.#isLong) return false;
    const requests = this.#requests++;
    if (requests < this.#timedAt) return true;
    this.#timedAt = requests + Math.min(requests + 1, UNTIMED_MAX);
    this.#isLong = performance.now() - this.#startedMs >= TURN_MS;
    return !this.#isLong;
  }

  /** Bytes of all responses so far. */
  get responseBytes(): number {
    return this.#buffer.added;
  }

  /** Collects a response; closes the connection after it unless it is kept alive. */
  respond(socket: Client, response: RedirectorResponse, request: RespondedRequest): void {
    if (!this.#buffer.add(socket, response, request)) {
      // The buffer is full: sends its contents first.
      this.#commitAndSend();
      if (!this.#buffer.add(socket, response, request)) {
        this.fail(socket, "response", new Error("A response is longer than the buffer."));
        return;
      }
    }
    if (!request.keepAlive) socket.data.closing = true;
    this.wait(socket);
  }

  /** Counts a response of this turn, whose latency is observed when it is sent. */
  countResponse(): void {
    this.#responses++;
  }

  /** Closes a connection after its earlier responses; no more requests are read. */
  fail(socket: Client, reason: ConnectionErrorReason, error: unknown): void {
    this.#connections.report(reason, error);
    socket.data.closing = true;
    this.wait(socket);
  }

  /** Ends a connection's turn: its further requests wait for those of other connections. */
  wait(socket: Client): void {
    if (socket.data.hadTurn) return;
    socket.data.hadTurn = true;
    this.#scheduled.push(socket);
    this.#scheduleFlush();
  }

  #scheduleFlush(): void {
    if (this.#isFlushScheduled) return;
    this.#isFlushScheduled = true;
    setImmediate(this.#flush);
  }

  readonly #flush = (): void => {
    this.#isFlushScheduled = false;
    this.#commitAndSend();
    const sockets = this.#scheduled;
    this.#scheduled = [];
    // Those that wait begin the next turn: what arrives after them in it waits as long as they did.
    this.#hasBegun = false;
    if (this.#waiting.finishTurns(sockets)) this.#scheduleFlush();
  };

  /** Commits clicks and sends responses; further requests wait until the turn is over. */
  #commitAndSend(): void {
    try {
      this.#handler.commit();
    } catch (error) {
      // Redirects are sent even if their clicks cannot be written.
      this.#connections.report("commit", error);
    }
    this.#buffer.send(this.#send);
    if (this.#responses === 0) return;
    this.#latency.observe(performance.now() - this.#startedMs, this.#responses);
    this.#responses = 0;
  }

  readonly #send = (socket: Client, bytes: Buffer, start: number, end: number): void => {
    try {
      send(socket, bytes, start, end);
    } catch (error) {
      this.#connections.abort(socket, "internal", error);
    }
  };
}

/** How much of a turn connections get together whose next requests are there already. */
const WAITING_MS = 5;

/** A network; a connection that counts for none, which is that of a proxy, stands for itself. */
type Group = string | Client;

/**
 * Connections whose next requests have arrived. They wait for each other, so that clients which
 * pipeline take time from each other, not from those who send one request at a time. Networks take
 * turns, so that none is delayed by how many connections another has.
 */
export class WaitingConnections {
  readonly #finishTurn: (socket: Client) => void;
  /** The group whose turn is next comes first; of a group, what has waited for longest. */
  readonly #groups = new Map<Group, Set<Client>>();

  /** `finishTurn` is called with each connection whose turn is over. */
  constructor(finishTurn: (socket: Client) => void) {
    this.#finishTurn = finishTurn;
  }

  /**
   * Finishes the turns of connections that had one: at once, unless they have more to be read.
   * Returns whether some still wait: then it must be called again, after others have had a turn.
   */
  finishTurns(sockets: readonly Client[]): boolean {
    for (const socket of sockets) {
      if (hasMore(socket.data)) this.#add(socket);
      else this.#finishTurn(socket);
    }
    // As nearly always: the clock costs more than all of the above.
    if (this.#groups.size === 0) return false;
    const endMs = performance.now() + WAITING_MS;
    for (let socket = this.#next(); socket !== undefined; socket = this.#next()) {
      this.#finishTurn(socket);
      if (performance.now() >= endMs) break;
    }
    return this.#groups.size > 0;
  }

  #add(socket: Client): void {
    const group = socket.data.groups?.network ?? socket;
    const sockets = this.#groups.get(group);
    if (sockets === undefined) this.#groups.set(group, new Set([socket]));
    else sockets.add(socket);
  }

  #next(): Client | undefined {
    const [first] = this.#groups;
    if (first === undefined) return undefined;
    const [group, sockets] = first;
    const [socket] = sockets;
    this.#groups.delete(group);
    if (socket === undefined) return undefined;
    sockets.delete(socket);
    if (sockets.size > 0) this.#groups.set(group, sockets);
    return socket;
  }
}
