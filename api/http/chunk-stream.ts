/** Streams bytes to a client as fast as it reads them. */

/** A client that takes less than a chunk in this time loses its response. */
const STALLED_MS = 30_000;

/**
 * Returns a response's body of chunks. The first one is read before, so that an error is still one. Chunks are read as the
 * client takes them; `chunks` ends when the client has gone, or takes nothing for `stalledMs`: then the connection breaks.
 */
export async function streamChunks(
  chunks: AsyncGenerator<Uint8Array, undefined>,
  stalledMs = STALLED_MS,
): Promise<ReadableStream<Uint8Array>> {
  let first: IteratorResult<Uint8Array, undefined> | undefined = await chunks.next();
  let timer: Timer | undefined;

  function expectProgress(controller: ReadableStreamDefaultController<Uint8Array>): void {
    timer = setTimeout(() => {
      end();
      controller.error(new Error("The client has stopped reading."));
    }, stalledMs);
  }

  function end(): void {
    clearTimeout(timer);
    chunks.return(undefined).catch(() => undefined);
  }

  return new ReadableStream<Uint8Array>(
    {
      start: expectProgress,
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
    // Asks for a chunk when the one before has gone.
    { highWaterMark: 0 },
  );
}
