/**
 * The tools of the MCP server. Each is a few calls of the API with the caller's key, so scopes,
 * limits and checks are the API's; results are JSON of a bounded length.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";

import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import * as z from "zod";

import { type Client, createClient, ShorthopError } from "../../typescript/src/index.ts";
import { findId } from "./links.ts";
import { version } from "./settings.ts";
import { present } from "./shorten.ts";

/** The most characters of a result, which an assistant has to read. */
const RESULT_LENGTH_MAX = 50_000;

/** Texts of a call; the API has closer bounds. */
const text = z.string().max(8_192);
const link = text.describe("A link: its id (link_…), alias or short URL.");
const period = z.enum(["24h", "7d", "30d", "90d", "all"]).default("30d");
const timezone = text.optional().describe("IANA name of the time zone of days; UTC when left out.");

const READS = { readOnlyHint: true, openWorldHint: false };
const CREATES = { readOnlyHint: false, destructiveHint: false, openWorldHint: false };
const DESTROYS = { readOnlyHint: false, destructiveHint: true, openWorldHint: false };

/** A server for one client; without `write` it has no tool that changes anything. */
export function buildServer(client: Client, write: boolean): McpServer {
  const server = new McpServer({ name: "shorthop", version });
  addReadingTools(server, client);
  addAnalyticsTools(server, client);
  if (write) addWritingTools(server, client);
  return server;
}

function addReadingTools(server: McpServer, client: Client): void {
  server.registerTool(
    "find_links",
    {
      description: "Finds links by text or tag, the newest first, with their clicks.",
      inputSchema: {
        search: text.optional().describe("Text in alias, title or destination."),
        tag: text.optional(),
        limit: z.int().min(1).max(100).default(20),
      },
      annotations: READS,
    },
    ({ search, tag, limit }) =>
      respond(async () => {
        const query = { limit, ...present({ search, tag }) };
        const { data, pagination } = await client.links.list(query);
        return { links: data, total: pagination.total };
      }),
  );
  server.registerTool(
    "get_link",
    {
      description: "Returns a link with all its settings.",
      inputSchema: { link },
      annotations: READS,
    },
    (given) =>
      respond(async () =>
        client.links.get(await findId(client, given.link), { include: "settings" }),
      ),
  );
  server.registerTool(
    "explain_link",
    {
      description: "Says where a visitor would be led, and why: by rules, schedule, limits.",
      inputSchema: {
        link,
        country: text.optional().describe("ISO 3166-1 code, such as DE."),
        language: text.optional().describe("Such as de."),
        user_agent: text.optional(),
      },
      annotations: READS,
    },
    ({ link: given, ...visit }) =>
      respond(async () => client.links.explain(await findId(client, given), present(visit))),
  );
}

function addAnalyticsTools(server: McpServer, client: Client): void {
  server.registerTool(
    "get_clicks",
    {
      description: "Clicks and unique visitors by day, of a link, or of all links without one.",
      inputSchema: { link: link.optional(), period, timezone },
      annotations: READS,
    },
    ({ link: given, ...query }) =>
      respond(async () =>
        given === undefined
          ? client.analytics.account(present(query))
          : client.analytics.summary(await findId(client, given), present(query)),
      ),
  );
  server.registerTool(
    "break_down_clicks",
    {
      description:
        "Clicks by one or two dimensions, the most first, of a link, or of all links without one.",
      inputSchema: {
        link: link.optional(),
        by: text.describe(
          "One or two, with a comma between them: country, region, city, device, browser, os, " +
            "referrer, language, trigger, utm_source, utm_medium, utm_campaign, target, link, tag.",
        ),
        period,
        timezone,
        limit: z.int().min(1).max(100).default(20),
      },
      annotations: READS,
    },
    ({ link: given, by, ...query }) =>
      respond(async () =>
        given === undefined
          ? client.analytics.accountBreakdown({ by, ...present(query) })
          : client.analytics.breakdown(await findId(client, given), { by, ...present(query) }),
      ),
  );
}

function addWritingTools(server: McpServer, client: Client): void {
  const fields = {
    title: text.nullish().describe("A name for people; null clears it."),
    tags: z.array(text).max(50).optional(),
    expires_at: text.nullish().describe("When the link ends: an instant; null for never."),
  };
  server.registerTool(
    "create_link",
    {
      description: "Creates a link, which redirects at once.",
      inputSchema: { url: text, alias: text.optional(), domain: text.optional(), ...fields },
      annotations: CREATES,
    },
    ({ url, ...others }) => respond(() => client.links.create({ url, ...present(others) })),
  );
  server.registerTool(
    "update_link",
    {
      description: "Changes a link. A new destination or alias holds for everybody at once.",
      inputSchema: { link, url: text.optional(), alias: text.optional(), ...fields },
      annotations: DESTROYS,
    },
    ({ link: given, ...change }) =>
      respond(async () => client.links.update(await findId(client, given), present(change))),
  );
  server.registerTool(
    "delete_link",
    {
      description: "Deletes a link for good: its short URL stops working.",
      inputSchema: { link },
      annotations: DESTROYS,
    },
    (given) => respond(async () => client.links.delete(await findId(client, given.link))),
  );
}

/** The result of a tool: what the API has answered, or why it refused. */
async function respond(work: () => Promise<unknown>): Promise<CallToolResult> {
  try {
    const json = JSON.stringify(await work());
    if (json.length <= RESULT_LENGTH_MAX) return { content: [{ type: "text", text: json }] };
    return refusal("The result is too long: ask for fewer entries or a shorter period.");
  } catch (error) {
    if (!(error instanceof ShorthopError)) throw error;
    return refusal(`${error.code}: ${error.message}`);
  }
}

const refusal = (message: string): CallToolResult => ({
  isError: true,
  content: [{ type: "text", text: message }],
});

// The MCP server over HTTP: each request is one call, with an API key of its own as bearer.

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
