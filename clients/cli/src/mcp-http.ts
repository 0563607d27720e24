/** The MCP server over HTTP: each request is one call, with an API key of its own as bearer. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";

import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";

import { createClient } from "../../typescript/src/index.ts";
import { buildServer } from "./mcp-server.ts";

/** The most bytes of a request: a tool takes some texts. */
const BODY_BYTES_MAX = 256 * 1024;

/** A request has arrived within it. */
const REQUEST_MS = 10_000;

/** Only this machine is listened to: a proxy in front of it has the certificate. */
const ADDRESS = "127.0.0.1";

/** Serves the tools for the API at `url`; resolves when it listens. */
export function serveHttp(url: string, port: number, write: boolean): Promise<Server> {
  const server = createServer({ requestTimeout: REQUEST_MS }, (request, response) => {
    answer(url, write, request, response).catch(() => refuse(response, 500, "Internal error."));
  });
  return new Promise((resolve, reject) => {
    server.on("error", reject).listen(port, ADDRESS, () => resolve(server));
  });
}

async function answer(
  url: string,
  write: boolean,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  // A page of a browser may not call: it has an origin, and could use names of this machine.
  if (request.headers.origin !== undefined) return refuse(response, 403, "Pages may not call.");
  if (request.method !== "POST") return refuse(response, 405, "Send a POST.");
  const key = /^bearer +(?<key>\S+)$/i.exec(request.headers.authorization ?? "")?.groups?.["key"];
  if (key === undefined) return refuse(response, 401, "Send an API key: Authorization: Bearer ….");
  const body = await readBody(request);
  if (body === undefined) return refuse(response, 413, "The request is too large.");
  const call = parse(body);
  if (call === undefined) return refuse(response, 400, "The request is not JSON.");
  const server = buildServer(createClient({ baseUrl: url, apiKey: key }), write);
  // Without sessions: nothing is kept between two requests.
  const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
  response.on("close", () => void server.close());
  await server.connect(transport);
  await transport.handleRequest(request, response, call);
}

/** The body as text; undefined for one that is too long, of which no more is read. */
async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes > BODY_BYTES_MAX) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function parse(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

function refuse(response: ServerResponse, status: number, message: string): void {
  if (response.headersSent) {
    response.end();
    return;
  }
  response.writeHead(status, { "content-type": "application/json", connection: "close" });
  response.end(JSON.stringify({ jsonrpc: "2.0", error: { code: -32_000, message }, id: null }));
}
