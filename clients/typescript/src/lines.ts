/** Reads a body line by line. */

/** The most characters of a line; a click has some hundreds. */
const LINE_LENGTH_MAX = 1_000_000;

/**
 * Yields the lines of a body without their ends. Throws when one is too long, or when the last one
 * has no end.
 */
export async function* readLines(
  body: ReadableStream<Uint8Array>,
): AsyncGenerator<string, void, undefined> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      yield* lines;
      if (rest.length > LINE_LENGTH_MAX) throw new Error("A line is too long.");
    }
    if (rest !== "") throw new Error("The last line is not complete.");
  } finally {
    // Ends the connection when the iteration stops early.
    await reader.cancel().catch(() => undefined);
  }
}
