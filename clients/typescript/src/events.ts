/** Reads server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html). */

export type ServerEvent = { id: string | undefined; type: string; data: string };

/** The most characters of an event that is not complete; those of the API have some hundreds. */
const EVENT_LENGTH_MAX = 1_000_000;

/** Yields the events of a stream in order. Throws when an event is too long. */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
): AsyncGenerator<ServerEvent, void, undefined> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      text = (text + decoder.decode(value, { stream: true })).replaceAll("\r\n", "\n");
      if (text.length > EVENT_LENGTH_MAX) throw new Error("An event of the stream is too long.");
      for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
        const event = parseEvent(text.slice(0, end));
        text = text.slice(end + 2);
        if (event !== undefined) yield event;
      }
    }
  } finally {
    // Ends the connection when the iteration stops early.
    await reader.cancel().catch(() => undefined);
  }
}

/** Parses the lines of an event; undefined for one without data, such as a comment. */
function parseEvent(text: string): ServerEvent | undefined {
  const data: string[] = [];
  let id: string | undefined;
  let type = "message";
  for (const line of text.split("\n")) {
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "data") data.push(value);
    else if (name === "id") id = value;
    else if (name === "event") type = value;
  }
  return data.length === 0 ? undefined : { id, type, data: data.join("\n") };
}
