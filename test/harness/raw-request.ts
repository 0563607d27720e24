/** Requests whose target is sent as it is: `fetch` resolves `..` and escapes characters. */
import { connect } from "node:net";

export type RawResponse = { status: number; location: string | null; head: string; body: string };

/** Longer than any response of a test takes. */
const TIMEOUT_MS = 20_000;

/** Sends a GET with a target and header fields, each byte one character; as curl without others. */
export function rawRequest(
  origin: string,
  target: string,
  fields: Record<string, string> = {},
): Promise<RawResponse> {
  const { hostname, port, host } = new URL(origin);
  const all = { host, "user-agent": "curl/8.9.1", ...fields };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  const request = `GET ${target} HTTP/1.1\r\n${lines.join("")}connection: close\r\n\r\n`;
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = connect({ host: hostname, port: Number(port) });
    socket.setTimeout(TIMEOUT_MS, () => socket.destroy(new Error(`No response to ${target}`)));
    socket.on("error", reject);
    socket.on("data", (chunk: Buffer) => chunks.push(chunk));
    socket.on("end", () => {
      socket.end();
      resolve(parse(Buffer.concat(chunks)));
    });
    socket.write(request, "latin1");
  });
}

function parse(bytes: Buffer): RawResponse {
  const end = bytes.indexOf("\r\n\r\n");
  const head = bytes.toString("latin1", 0, end);
  return {
    status: Number(head.split(" ")[1]),
    location: /^location: (.*)$/im.exec(head)?.[1]?.trim() ?? null,
    head,
    body: bytes.toString("utf8", end + 4),
  };
}
