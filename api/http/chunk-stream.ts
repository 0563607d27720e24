/** Streams bytes to a client as fast as it reads them. */

/** A client that reads less than a chunk in this time loses its response. */
const STALLED_MS = 30_000;

type ChunkStreamOptions = {
  stalledMs?: number | undefined;
  /** Breaks the connection when it is aborted. */
  signal?: AbortSignal;
};

/**
 * Returns a response body of chunks. Reads the first chunk before it returns, so that an error can
 * still change the status. Then reads chunks as the client consumes them. `chunks` ends when the
 * client disconnects. If the client reads nothing for `stalledMs`, it also ends, and the connection
 * breaks.
 */
export async function streamChunks(
  chunks: AsyncGenerator<Uint8Array, undefined>,
  { stalledMs = STALLED_MS, signal }: ChunkStreamOptions = {},
): Promise<ReadableStream<Uint8Array>> {
  let first: IteratorResult<Uint8Array, undefined> | undefined = await chunks.next();
  let timer: Timer | undefined;

  function expectProgress(controller: ReadableStreamDefaultController<Uint8Array>): void {
    timer = setTimeout(() => breakOff(controller, "The client has stopped reading."), stalledMs);
  }

  function breakOff(controller: ReadableStreamDefaultController<Uint8Array>, reason: string): void {
    end();
    controller.error(new Error(reason));
  }

  function end(): void {
    clearTimeout(timer);
    chunks.return(undefined).catch(() => undefined);
  }

  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        expectProgress(controller);
        const abort = (): void => breakOff(controller, "The response has been ended.");
        signal?.addEventListener("abort", abort, { once: true });
      },
      async pull(controller) {
        clearTimeout(timer);
        const { value, done } = first ?? (await chunks.next());
        first = undefined;
        if (done === true) {
          controller.close();
          return;
        }
        controller.enqueue(value);
        expectProgress(controller);
      },
      cancel: end,
    },
    // Requests a chunk after the previous one has been sent.
    { highWaterMark: 0 },
  );
}
