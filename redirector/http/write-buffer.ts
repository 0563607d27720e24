/**
 * The write buffer: collects the responses of one turn of the event loop, to send those of a
 * connection at once.
 */
import { NO_ROOM, type ResponseOptions, type ResponseWriter } from "./response-writer.ts";
import type { RedirectorResponse } from "./response.ts";

/**
 * Space for several thousand redirects, and for more than the longest response:
 * `RESPONSE_BYTES_MAX`.
 */
export const WRITE_BUFFER_BYTES = 1024 * 1024;

export type WriteBuffer<Receiver> = {
  /**
   * Appends a response for `receiver`. Returns false when it does not fit: then nothing is added,
   * and the caller must `send` first.
   */
  add(receiver: Receiver, response: RedirectorResponse, options: ResponseOptions): boolean;
  /** Passes all bytes to `send`, receiver by receiver in order, and empties the buffer. */
  send(send: (receiver: Receiver, bytes: Buffer, start: number, end: number) => void): void;
};

export function createWriteBuffer<Receiver>(writer: ResponseWriter): WriteBuffer<Receiver> {
  const buffer = Buffer.allocUnsafe(WRITE_BUFFER_BYTES);
  let end = 0;
  const receivers: Receiver[] = [];
  /** The end of each receiver's bytes. */
  const ends: number[] = [];

  return {
    add(receiver, response, options) {
      const newEnd = writer.write(response, options, buffer, end);
      if (newEnd === NO_ROOM) return false;
      end = newEnd;
      const last = receivers.length - 1;
      if (receivers[last] === receiver) {
        ends[last] = end;
      } else {
        receivers.push(receiver);
        ends.push(end);
      }
      return true;
    },
    send(send) {
      let start = 0;
      let i = 0;
      for (const receiver of receivers) {
        const receiverEnd = ends[i++] ?? start;
        send(receiver, buffer, start, receiverEnd);
        start = receiverEnd;
      }
      receivers.length = 0;
      ends.length = 0;
      end = 0;
    },
  };
}
