/** Sends requests of the corpus to a server, and reads the statuses of its responses. */
import { connect } from "node:net";

import * as z from "zod";

/** Text, or a text that is repeated; characters stand for bytes (Latin-1). */
const part = z.union([z.string(), z.tuple([z.string(), z.int()])]);

const corpusLine = z.object({
  name: z.string(),
  request: z.array(part),
  /** The statuses of our responses, up to the end of the connection. */
  statuses: z.string(),
  /** Those of nginx, where they differ, and the key of the reason. */
  nginx: z.string().optional(),
  reason: z.string().optional(),
});

export type CorpusLine = z.output<typeof corpusLine>;

/** The corpus, one JSON object per line. */
const CORPUS_FILE = new URL("requests.jsonl", import.meta.url);

/** Reads the corpus. */
export async function readCorpus(): Promise<CorpusLine[]> {
  const text = await Bun.file(CORPUS_FILE).text();
  return text
    .trim()
    .split("\n")
    .map((line) => corpusLine.parse(JSON.parse(line)));
}

/**
 * Sent after each request: its response shows that the server and the author of the request agree
 * where the request ends.
 */
const LAST = "GET /abc?last HTTP/1.1\r\nHost: sho.rt\r\nConnection: close\r\n\r\n";

/** How long a server may be silent before the client closes its side of an incomplete request. */
const SILENCE_MS = 400;

/** Sends a request, and another one; returns the statuses of all responses, e.g. `302 302`. */
export async function sendRequest(port: number, request: CorpusLine["request"]): Promise<string> {
  const text = request.map((one) => (typeof one === "string" ? one : one[0].repeat(one[1])));
  const received: Buffer[] = [];
  await new Promise<void>((resolve) => {
    const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    socket.setTimeout(SILENCE_MS, () => socket.end());
    socket.on("data", (data: Buffer) => void received.push(data));
    socket.on("end", () => socket.end());
    // A server may reset the connection after its response: what it sent before counts.
    socket.on("error", () => undefined);
    socket.on("close", () => resolve());
    socket.write(Buffer.from(text.join("") + LAST, "latin1"));
  });
  return readStatuses(Buffer.concat(received).toString("latin1"));
}

/** Reads the statuses of consecutive responses. */
function readStatuses(text: string): string {
  const statuses: string[] = [];
  let at = 0;
  while (at < text.length) {
    const end = text.indexOf("\r\n\r\n", at);
    const head = text.slice(at, end < 0 ? undefined : end);
    const [, status] = /^HTTP\/1\.1 (\d{3}) /.exec(head) ?? [];
    statuses.push(status ?? "invalid");
    if (status === undefined || end < 0) break;
    const [, length = "0"] = /\r\nContent-Length: (\d+)/i.exec(head) ?? [];
    // The response to HEAD has a length and no body.
    const hasBody = !text.startsWith("HTTP/1.1 ", end + 4);
    at = end + 4 + (hasBody ? Number(length) : 0);
  }
  return statuses.join(" ");
}
