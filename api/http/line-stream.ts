/** Streams lines of text to a client as fast as it reads them. */

/** Most characters of a chunk. What the client's connection holds comes on top: some megabytes at most. */
const CHUNK_LENGTH_MAX = 256 * 1024;

/** A client that takes less than a chunk in this time loses its response. */
const STALLED_MS = 30_000;

/**
 * Returns a response's body of parts of lines. The first part is read before, so that an error is still one. Parts are read
 * as the client takes them; `parts` ends when the client has gone, or takes nothing for `stalledMs`: then the connection
 * breaks.
 */
export async function streamLines(
  parts: AsyncGenerator<string>,
  stalledMs = STALLED_MS,
): Promise<ReadableStream<Uint8Array>> {
  const chunks = toChunks(parts);
  let first: IteratorResult<string> | undefined = await chunks.next();
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
        controller.enqueue(encoder.encode(value));
        expectProgress(controller);
      },
      cancel: end,
    },
    // Asks for a chunk when the one before has gone.
    { highWaterMark: 0 },
  );
}

const encoder = new TextEncoder();

/** Divides parts into chunks of whole lines. */
async function* toChunks(parts: AsyncGenerator<string>): AsyncGenerator<string, undefined> {
  for await (const part of parts) {
    for (let start = 0; start < part.length;) {
      const lineEnd = part.lastIndexOf("\n", start + CHUNK_LENGTH_MAX - 1) + 1;
      // A line that is longer is a chunk of its own.
      const end = lineEnd > start ? lineEnd : part.indexOf("\n", start) + 1 || part.length;
      yield part.slice(start, end);
      start = end;
    }
  }
  return undefined;
}
