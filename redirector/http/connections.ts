/**
 * The connections: cuts their bytes into requests, has each answered in its turn, and writes answers
 * after the clicks of all that came in together are recorded. Nothing is read ahead of an answer that
 * is waited for, or that the other end does not take; everything has a bound and an end.
 */
import type { Socket, SocketHandler } from "bun";

import type { Handler } from "../handler.ts";
import type { Answer, AnswerWriter } from "./answer.ts";
import { newHead, readHead } from "./head.ts";

export type ConnectionsDeps = {
  handle: Handler;
  writer: AnswerWriter;
  /** Writes the clicks of requests whose answers are about to be sent. */
  commit: () => void;
  /** The most bytes of a body. */
  bodyBytesMax: number;
  /** Connections beyond which a new one is closed at once. */
  connectionsMax: number;
  /** The normal form of a peer's address. */
  addressOf: (peer: string) => string;
  onError: (error: unknown) => void;
};

/** How long a request may take to arrive, an answer to be taken, and a connection to be silent. */
const REQUEST_SECONDS = 5;
const ANSWER_SECONDS = 30;
const IDLE_SECONDS = 60;

/** Bytes that may wait for their turn; who sends more ahead is cut off. */
const INPUT_BYTES_MAX = 64 * 1024;

/** Answers up to this size are written from one buffer that is used over and over. */
const SCRATCH_BYTES = 16 * 1024;

const SWEEP_MS = 1_000;

/** The state of one connection. */
export type Connection = {
  peer: string;
  /** Bytes that are no whole request yet, or wait for their turn. */
  input: Buffer | undefined;
  /** Answers that wait for their clicks to be recorded. */
  output: string;
  /** What the other end has not taken yet. */
  unsent: Buffer | undefined;
  /** Whether an answer is waited for. */
  waiting: boolean;
  /** Whether nothing more is read. */
  closing: boolean;
  /** Whether the other end has said all it will. */
  ended: boolean;
  queued: boolean;
  /** When the present state began, in seconds of the sweep. */
  since: number;
};

export type Connections = ReturnType<typeof createConnections>;

export function createConnections(deps: ConnectionsDeps) {
  const { handle, writer, commit, bodyBytesMax, connectionsMax, addressOf, onError } = deps;
  const open = new Set<Socket<Connection>>();
  const head = newHead();
  const scratch = Buffer.allocUnsafe(SCRATCH_BYTES);
  let queue: Socket<Connection>[] = [];
  let seconds = 0;
  let now = 0;
  let draining = false;
  let refused = 0;

  function read(socket: Socket<Connection>, bytes: Buffer): void {
    const connection = socket.data;
    // One look at the clock for all that came in together.
    if (queue.length === 0) now = Date.now();
    let at = 0;
    while (at < bytes.length && isReading(connection)) {
      const reading = readHead(bytes, at, head);
      if (reading.kind === "partial") break;
      if (reading.kind === "refused") {
        refuse(connection, reading.status);
        break;
      }
      const bodyEnd = reading.end + head.contentLength;
      if (head.contentLength > bodyBytesMax) {
        refuse(connection, 413);
        break;
      }
      if (bytes.length < bodyEnd) break;
      at = bodyEnd;
      answer(socket, bytes, { start: reading.end, end: bodyEnd });
    }
    keepInput(connection, bytes, at);
    if (connection.output !== "") enqueue(socket);
  }

  const isReading = ({ waiting, closing, unsent }: Connection): boolean =>
    !waiting && !closing && unsent === undefined;

  function refuse(connection: Connection, status: Parameters<AnswerWriter["refuse"]>[0]): void {
    connection.output += writer.refuse(status, now);
    connection.closing = true;
  }

  function answer(
    socket: Socket<Connection>,
    bytes: Buffer,
    body: { start: number; end: number },
  ): void {
    const connection = socket.data;
    const terms = { method: head.method, keepAlive: head.keepAlive && !draining, now };
    const answered = handle({ head, bytes, body, now, peer: connection.peer });
    if (!(answered instanceof Promise)) {
      take(connection, answered, terms);
      return;
    }
    connection.waiting = true;
    answered
      .then(
        (later) => take(connection, later, terms),
        (error: unknown) => {
          onError(error);
          connection.closing = true;
        },
      )
      .finally(() => {
        connection.waiting = false;
        enqueue(socket);
      });
  }

  function take(
    connection: Connection,
    answered: Answer,
    terms: Parameters<AnswerWriter["write"]>[1],
  ): void {
    connection.output += writer.write(answered, terms);
    if (!terms.keepAlive) connection.closing = true;
  }

  function keepInput(connection: Connection, bytes: Buffer, from: number): void {
    if (connection.closing || from >= bytes.length) {
      connection.input = undefined;
      return;
    }
    if (bytes.length - from > INPUT_BYTES_MAX) {
      connection.closing = true;
      connection.input = undefined;
      return;
    }
    if (connection.input === undefined || from > 0) connection.since = seconds;
    connection.input = from === 0 ? bytes : Buffer.from(bytes.subarray(from));
  }

  function enqueue(socket: Socket<Connection>): void {
    if (socket.data.queued) return;
    socket.data.queued = true;
    // After the other requests that came in with this one: their clicks are written together.
    if (queue.push(socket) === 1) setImmediate(flush);
  }

  function flush(): void {
    commit();
    const sockets = queue;
    queue = [];
    for (const socket of sockets) {
      const connection = socket.data;
      connection.queued = false;
      connection.since = seconds;
      const { output } = connection;
      connection.output = "";
      if (output !== "") send(socket, output);
      resume(socket);
    }
  }

  function send(socket: Socket<Connection>, output: string): void {
    const { length } = output;
    const bytes = length > scratch.length ? Buffer.from(output, "latin1") : scratch;
    if (bytes === scratch) scratch.write(output, "latin1");
    const written = socket.write(bytes, 0, length);
    if (written >= 0 && written < length) {
      socket.data.unsent = Buffer.from(bytes.subarray(written, length));
    }
  }

  /** Goes on with what has come in meanwhile, or ends what has nothing more to say. */
  function resume(socket: Socket<Connection>): void {
    const connection = socket.data;
    if (connection.waiting || connection.unsent !== undefined) return;
    if (!connection.closing && connection.input !== undefined) read(socket, connection.input);
    const { closing, ended, waiting, output } = connection;
    if (closing ? output === "" : ended && !waiting && output === "") socket.end();
  }

  function isOverdue({ unsent, waiting, input, since }: Connection): boolean {
    const age = seconds - since;
    if (unsent !== undefined) return age > ANSWER_SECONDS;
    return age > (input !== undefined && !waiting ? REQUEST_SECONDS : IDLE_SECONDS);
  }

  const sweep = setInterval(() => {
    seconds++;
    for (const socket of open) if (isOverdue(socket.data)) socket.terminate();
  }, SWEEP_MS);

  const handlers: SocketHandler<Connection> = {
    open(socket) {
      socket.data = {
        peer: addressOf(socket.remoteAddress),
        input: undefined,
        output: "",
        unsent: undefined,
        waiting: false,
        closing: false,
        ended: false,
        queued: false,
        since: seconds,
      };
      if (open.size >= connectionsMax) {
        refused++;
        socket.terminate();
        return;
      }
      open.add(socket);
    },
    data(socket, chunk) {
      const { input, closing } = socket.data;
      if (closing) return;
      read(socket, input === undefined ? chunk : Buffer.concat([input, chunk]));
    },
    drain(socket) {
      const { unsent } = socket.data;
      if (unsent === undefined) return;
      const written = socket.write(unsent);
      socket.data.unsent = written < unsent.length ? unsent.subarray(written) : undefined;
      socket.data.since = seconds;
      resume(socket);
    },
    end(socket) {
      // What it has asked for is still answered.
      socket.data.ended = true;
      enqueue(socket);
    },
    close: (socket) => void open.delete(socket),
    error(socket) {
      open.delete(socket);
    },
  };

  return {
    handlers,
    stats: () => ({ open: open.size, refused }),
    /** From now on each connection ends with its next answer; gives when none is left, or time is up. */
    async drain(ms: number): Promise<void> {
      draining = true;
      const deadline = Date.now() + ms;
      while (open.size > 0 && Date.now() < deadline) await Bun.sleep(20);
      for (const socket of open) socket.end();
      clearInterval(sweep);
    },
  };
}
