/**
 * The connections: cuts their bytes into requests, has each answered in its turn, and sends answers
 * after the clicks of all that came in together are recorded. Nothing is read ahead of an answer that
 * is waited for, or that the other end does not take; everything has a bound and an end.
 */
import type { Socket, SocketHandler } from "bun";

import { newPassage } from "../../shared/bytes.ts";
import type { Handler, Incoming } from "../handler.ts";
import type { Answer, AnswerWriter, Terms } from "./answer.ts";
import { type Connection, isOverdue, keepInput, mayRead, newConnection } from "./connection.ts";
import { createHeadReader } from "./head.ts";
import { createOutbox } from "./outbox.ts";
import { readProxyHeader } from "./proxy-protocol.ts";

export type ConnectionsDeps = {
  handle: Handler;
  writer: AnswerWriter;
  /** Writes the clicks of requests whose answers are about to be sent. */
  commit: () => void;
  /** The most bytes of a body. */
  bodyBytesMax: number;
  /** Connections beyond which a new one is closed at once. */
  connectionsMax: number;
  /** Whether each connection begins with a proxy's word on whose it is. */
  proxyProtocol: boolean;
  /** The normal form of a peer's address. */
  addressOf: (peer: string) => string;
  onError: (error: unknown) => void;
};

const SWEEP_MS = 1_000;

type Client = Socket<Connection>;

export function createConnections(deps: ConnectionsDeps) {
  const {
    handle,
    writer,
    commit,
    bodyBytesMax,
    connectionsMax,
    proxyProtocol,
    addressOf,
    onError,
  } = deps;
  const open = new Set<Client>();
  const outbox = createOutbox<Client>(writer);
  // One of each for all requests, as each is answered, or copied, before the next is read.
  const { head, read: readHead } = createHeadReader();
  const incoming: Incoming = { head, body: newPassage(), now: 0, peer: "" };
  const terms: Terms = { method: "", keepAlive: true, now: 0 };
  let seconds = 0;
  let now = 0;
  let scheduled = false;
  let draining = false;
  let refused = 0;

  function read(socket: Client, bytes: Buffer): void {
    const connection = socket.data;
    // One look at the clock for all that came in together.
    if (outbox.isEmpty()) now = Date.now();
    connection.reading = true;
    let at = 0;
    while (at < bytes.length && mayRead(connection)) {
      const reading = readHead(bytes, at);
      if (reading.kind === "partial") break;
      if (reading.kind === "refused") {
        refuse(socket, reading.status);
        break;
      }
      const bodyEnd = at + head.length + head.contentLength;
      if (head.contentLength > bodyBytesMax) {
        refuse(socket, 413);
        break;
      }
      if (bytes.length < bodyEnd) break;
      at = bodyEnd;
      answer(socket, bytes, bodyEnd);
    }
    keepInput(connection, bytes, at, seconds);
    connection.reading = false;
    // All was sent in between already: what follows on that is still to be done.
    if (at > 0 && !connection.answered && !connection.waiting) {
      outbox.touch(socket);
      schedule(socket);
    }
  }

  /** What a proxy says first; who does not keep to it is no proxy, and gets no answer. */
  function readAnnouncement(socket: Client, bytes: Buffer): void {
    const header = readProxyHeader(bytes);
    if (header.kind === "refused") {
      socket.terminate();
      return;
    }
    if (header.kind === "partial") {
      keepInput(socket.data, bytes, 0, seconds);
      return;
    }
    const connection = socket.data;
    connection.unannounced = false;
    connection.input = undefined;
    if (header.address !== undefined) connection.peer = addressOf(header.address);
    if (header.end < bytes.length) read(socket, bytes.subarray(header.end));
  }

  function refuse(socket: Client, status: Parameters<AnswerWriter["refuse"]>[0]): void {
    outbox.refuse(socket, status, now);
    socket.data.closing = true;
    schedule(socket);
  }

  function answer(socket: Client, bytes: Buffer, bodyEnd: number): void {
    const connection = socket.data;
    incoming.body.bytes = bytes;
    incoming.body.start = bodyEnd - head.contentLength;
    incoming.body.end = bodyEnd;
    incoming.now = now;
    incoming.peer = connection.peer;
    terms.method = head.method;
    terms.keepAlive = head.keepAlive && !draining;
    terms.now = now;
    const answered = handle(incoming);
    if (answered instanceof Promise) {
      answerLater(socket, answered, { ...terms });
      return;
    }
    outbox.add(socket, answered, terms);
    if (!terms.keepAlive) connection.closing = true;
    schedule(socket);
  }

  function answerLater(socket: Client, answered: Promise<Answer>, terms: Terms): void {
    const connection = socket.data;
    connection.waiting = true;
    answered
      .then(
        (later) => {
          outbox.add(socket, later, terms);
          if (!terms.keepAlive) connection.closing = true;
        },
        (error: unknown) => {
          onError(error);
          outbox.touch(socket);
          connection.closing = true;
        },
      )
      .finally(() => {
        connection.waiting = false;
        schedule(socket);
      });
  }

  /** After the other requests that came in with this one: their clicks are written together. */
  function schedule(socket: Client): void {
    socket.data.answered = true;
    if (outbox.isFull()) {
      flush();
    } else if (!scheduled) {
      scheduled = true;
      setImmediate(flush);
    }
  }

  function flush(): void {
    scheduled = false;
    commit();
    outbox.flush(send, sent);
  }

  function send(socket: Client, bytes: Buffer, start: number, end: number): void {
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
  }

  function sent(socket: Client): void {
    socket.data.answered = false;
    socket.data.since = seconds;
    proceed(socket);
  }

  /** Goes on with what has come in meanwhile, or ends what has nothing more to say. */
  function proceed(socket: Client): void {
    const connection = socket.data;
    if (connection.reading || connection.waiting || connection.unsent !== undefined) return;
    if (!connection.closing && connection.input !== undefined) read(socket, connection.input);
    if (connection.waiting || connection.answered) return;
    if (connection.closing || connection.ended) socket.end();
  }

  /** What a connection that is gone had still to say is not looked at any more. */
  function forget(socket: Client): void {
    // One that failed before it was open has no state yet.
    if (!open.delete(socket)) return;
    socket.data.closing = true;
    socket.data.input = undefined;
    socket.data.unsent = undefined;
  }

  const sweep = setInterval(() => {
    seconds++;
    for (const socket of open) if (isOverdue(socket.data, seconds)) socket.terminate();
  }, SWEEP_MS);

  const handlers: SocketHandler<Connection> = {
    open(socket) {
      socket.data = newConnection(addressOf(socket.remoteAddress), proxyProtocol, seconds);
      if (open.size >= connectionsMax) {
        refused++;
        socket.terminate();
        return;
      }
      open.add(socket);
    },
    data(socket, chunk) {
      const { input, closing, unannounced } = socket.data;
      if (closing) return;
      const bytes = input === undefined ? chunk : Buffer.concat([input, chunk]);
      if (unannounced) readAnnouncement(socket, bytes);
      else read(socket, bytes);
    },
    drain(socket) {
      const { unsent } = socket.data;
      if (unsent === undefined) return;
      const written = Math.max(0, socket.write(unsent));
      socket.data.unsent = written < unsent.length ? unsent.subarray(written) : undefined;
      socket.data.since = seconds;
      proceed(socket);
    },
    end(socket) {
      // What it has asked for is still answered.
      socket.data.ended = true;
      if (!socket.data.answered) proceed(socket);
    },
    close: forget,
    error(socket, error) {
      onError(error);
      forget(socket);
      socket.terminate();
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
