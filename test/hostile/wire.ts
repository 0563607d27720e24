/** Sends an input over a new connection as its delivery says, and parses the responses. */
import type { Socket } from "bun";

import type { Input } from "./inputs.ts";
import { type HttpResponse, ResponseReader } from "./responses.ts";

export type Exchange = {
  responses: readonly HttpResponse[];
  /** Time until the last response was complete, or the exchange ended without it. */
  ms: number;
  outcome: "responded" | "closed" | "gave up" | "no connection";
  /** Set if the response is not valid HTTP. */
  error: string | undefined;
};

/** Timeout of a response to a complete request: longer than the worst stall ever observed. */
const COMPLETE_TIMEOUT_MS = 25_000;

/** Timeout of a response to a request that may be incomplete. */
const INCOMPLETE_TIMEOUT_MS = 400;

/** An event stream has no end; it is closed after this time. */
const STREAM_TIMEOUT_MS = 300;

const SLOW_MS_MAX = 7_000;
const UNREAD_MS = 1_500;

/** What of an input decides how it is sent. */
export type Sendable = Pick<Input, "bytes" | "methods" | "delivery" | "complete">;

export async function sendInput(input: Sendable, port: number): Promise<Exchange> {
  const { bytes, methods, delivery, complete } = input;
  const reader = new ResponseReader(methods);
  const started = performance.now();
  const ended = Promise.withResolvers<Exchange["outcome"]>();
  let rest = bytes;
  let timeout: Timer | undefined;

  function endAfter(ms: number): void {
    clearTimeout(timeout);
    timeout = setTimeout(() => ended.resolve("gave up"), ms);
  }

  function writeRest(socket: Socket): void {
    while (rest.length > 0) {
      const written = socket.write(rest);
      if (written <= 0) return;
      rest = rest.subarray(written);
    }
  }

  let socket: Socket | undefined;
  try {
    socket = await Bun.connect({
      hostname: "127.0.0.1",
      port,
      allowHalfOpen: true,
      socket: {
        data(_, chunk) {
          reader.push(Buffer.from(chunk));
          if (reader.completeCount >= methods.length || reader.error !== undefined)
            ended.resolve("responded");
          else if (/content-type: *text\/event-stream/i.test(reader.responses.at(-1)?.head ?? ""))
            endAfter(STREAM_TIMEOUT_MS);
        },
        drain: writeRest,
        end: () => ended.resolve("closed"),
        close: () => ended.resolve("closed"),
        error: () => ended.resolve("closed"),
      },
    });
  } catch {
    return {
      responses: [],
      ms: performance.now() - started,
      outcome: "no connection",
      error: undefined,
    };
  }

  endAfter(complete ? COMPLETE_TIMEOUT_MS : INCOMPLETE_TIMEOUT_MS);
  switch (delivery.kind) {
    case "split":
      rest = Buffer.alloc(0);
      await writePieces(socket, bytes, delivery.lengths, () => Bun.sleep(0));
      break;
    case "slow": {
      rest = Buffer.alloc(0);
      clearTimeout(timeout);
      const { length, everyMs } = delivery;
      const pieces = Math.ceil(SLOW_MS_MAX / everyMs);
      const gone = ended.promise.then(() => true);
      await writePieces(socket, bytes, Array(pieces).fill(length), async () => {
        // Stops once the server has closed the connection.
        if ((await Promise.race([gone, Bun.sleep(everyMs)])) === true) return true;
        return undefined;
      });
      endAfter(INCOMPLETE_TIMEOUT_MS);
      break;
    }
    case "unread":
      socket.pause();
      writeRest(socket);
      await Bun.sleep(UNREAD_MS);
      socket.resume();
      break;
    case "reset":
      writeRest(socket);
      await Bun.sleep(1);
      ended.resolve("gave up");
      break;
    case "half closed":
      writeRest(socket);
      socket.shutdown();
      break;
    default:
      writeRest(socket);
  }
  const outcome = await ended.promise;
  clearTimeout(timeout);
  reader.end();
  // Resets the connection: either the delivery wants that, or it is no longer needed.
  socket.terminate();
  return {
    responses: reader.responses,
    ms: performance.now() - started,
    outcome,
    error: reader.error,
  };
}

/** Writes pieces of these lengths and the rest in one; stops early if `pause` returns true. */
async function writePieces(
  socket: Socket,
  bytes: Buffer,
  lengths: readonly number[],
  pause: () => Promise<boolean | void>,
): Promise<void> {
  let at = 0;
  for (const length of lengths) {
    if (at >= bytes.length) return;
    at += Math.max(0, socket.write(bytes.subarray(at, at + length)));
    if ((await pause()) === true) return;
  }
  socket.write(bytes.subarray(at));
}
