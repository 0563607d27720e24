/**
 * Input that waits: for the rest of its request, for a response, or for its connection's turn. All
 * of it is bounded.
 */
import { canRead, type Connection } from "./connection.ts";

/**
 * Bytes of any one request: its head, its form, and what chunks have around it. While more than
 * that waits for a turn, for a response, or for the client to read one, the socket is paused: a
 * host that is slow makes its clients wait, and disconnects none. What was read before may be as
 * long as one read, which is 512 KiB in Bun.
 */
const REQUEST_BYTES_MAX = 32 * 1024;

/**
 * Bytes of pipelined requests in all connections: of input that is longer than one request. It may
 * take twice as much memory. A client that would exceed this is disconnected; one that sends one
 * request at a time never is.
 */
const PIPELINED_BYTES_MAX = 64 * 1024 * 1024;

/** A connection's socket, as far as buffering needs it. */
export interface BufferedSocket {
  data: Connection;
  pause(): void;
  resume(): void;
}

export class InputBuffers {
  readonly #pipelinedBytesMax: number;
  #pipelinedBytes = 0;

  /** Tests lower the bound. */
  constructor(pipelinedBytesMax = PIPELINED_BYTES_MAX) {
    this.#pipelinedBytesMax = pipelinedBytesMax;
  }

  /**
   * Buffers `bytes` from `from` on, until the request is complete or may be read; pauses the socket
   * while there is much of it. `seconds` is the time of the timeout clock.
   */
  buffer(socket: BufferedSocket, bytes: Buffer, from: number, seconds: number): void {
    const connection = socket.data;
    // Most requests arrive alone and whole.
    if (from === bytes.length && connection.input === undefined && !connection.paused) return;
    if (!connection.closing && !this.#hasRoom(connection, bytes.length - from)) {
      this.#refuse(socket);
      return;
    }
    this.#bufferBytes(connection, bytes, from, seconds);
    const waits = connection.hadTurn || !canRead(connection);
    const shouldPause = waits && pipelinedIn(connection.input?.length) > 0;
    if (shouldPause === connection.paused) return;
    connection.paused = shouldPause;
    if (shouldPause) socket.pause();
    else socket.resume();
  }

  drop(connection: Connection): void {
    this.#setInput(connection, undefined);
  }

  /** Whether so many bytes of a connection fit beside what others pipeline. */
  #hasRoom({ input }: Connection, length: number): boolean {
    const others = this.#pipelinedBytes - pipelinedIn(input?.length);
    return others + pipelinedIn(length) <= this.#pipelinedBytesMax;
  }

  /** Ends a connection after its responses. To read what its client goes on sending costs most. */
  #refuse(socket: BufferedSocket): void {
    this.#setInput(socket.data, undefined);
    socket.data.closing = true;
    socket.data.paused = true;
    socket.pause();
  }

  #bufferBytes(connection: Connection, bytes: Buffer, from: number, seconds: number): void {
    const length = bytes.length - from;
    if (connection.closing || length === 0) {
      this.#setInput(connection, undefined);
      if (length > 0) connection.lingers = true;
      return;
    }
    if (connection.input === undefined || from > 0) connection.since = seconds;
    // A copy frees the memory of requests already read; copying only when they are more than half
    // bounds the work.
    const isSmall = 2 * length < bytes.buffer.byteLength;
    this.#setInput(connection, isSmall ? Buffer.from(bytes.subarray(from)) : bytes.subarray(from));
  }

  /** Sets a connection's input; nothing else does, so that the sum is right. */
  #setInput(connection: Connection, input: Buffer | undefined): void {
    this.#pipelinedBytes += pipelinedIn(input?.length) - pipelinedIn(connection.input?.length);
    connection.input = input;
  }
}

/** The bytes of an input that count as pipelined. */
const pipelinedIn = (length = 0): number => (length > REQUEST_BYTES_MAX ? length : 0);
