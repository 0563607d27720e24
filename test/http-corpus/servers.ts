/** The servers that the corpus is sent to: our redirector's, and nginx with the same links. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import * as z from "zod";

import { findFreePort } from "../../deploy/local/ports.ts";
import { LinkCache } from "../../redirector/cache/link-cache.ts";
import { FORM_BYTES_MAX } from "../../redirector/passwords/password.ts";
import type { ActiveLink } from "../../shared/contracts/link-record.ts";
import { eventually } from "../harness/eventually.ts";
import { activeLink } from "../harness/links-log.ts";
import { redirectorConfig, serveCached } from "../harness/redirector-config.ts";

export type CorpusServer = { port: number; stop(): Promise<void> };

const START_TIMEOUT_MS = 5_000;

const link = (alias: string, password_hash: string | null): ActiveLink => ({
  ...activeLink(alias, 1),
  password_hash,
});

/**
 * Starts a redirector's server with the links `/abc` and `/secret`, which has a password that
 * nobody knows.
 */
export function startOurServer(): CorpusServer {
  const cache = new LinkCache(1024 ** 2);
  cache.put(link("abc", null));
  cache.put(link("secret", "x"));
  const config = redirectorConfig({
    SHORT_URL: "http://sho.rt",
    CONNECTIONS_MAX: 2_000,
    CONNECTIONS_PER_ADDRESS_MAX: 2_000,
  });
  const server = serveCached(config, cache);
  return {
    port: Number(server.url.port),
    async stop() {
      await server.stop();
      const { socket: _, ...failures } = server.connections.errors;
      if (Object.values(failures).some((count) => count > 0)) throw new Error("The server failed.");
    },
  };
}

/** Starts nginx with the same links; undefined where that version is not installed. */
export async function startNginx(version: string): Promise<CorpusServer | undefined> {
  const program = Bun.which("nginx");
  if (program === null) return undefined;
  const { stderr } = Bun.spawnSync([program, "-v"]);
  if (!stderr.toString().includes(`nginx/${version}.`)) return undefined;
  const dir = mkdtempSync(join(tmpdir(), "shorthop-nginx-"));
  const port = findFreePort();
  const config = join(dir, "nginx.conf");
  writeFileSync(config, createNginxConfig(dir, port));
  const child = Bun.spawn([program, "-p", dir, "-c", config, "-e", join(dir, "error.log")], {
    stdio: ["ignore", "ignore", "ignore"],
  });
  await eventually(async () => void (await fetch(`http://127.0.0.1:${port}/`)), START_TIMEOUT_MS);
  return {
    port,
    async stop() {
      child.kill("SIGTERM");
      await child.exited;
      rmSync(dir, { recursive: true });
    },
  };
}

const createNginxConfig = (dir: string, port: number): string => `
daemon off;
worker_processes 1;
pid ${dir}/pid;
events { worker_connections 1000; }
http {
  access_log off;
  client_body_temp_path ${dir};
  proxy_temp_path ${dir};
  client_max_body_size ${FORM_BYTES_MAX};
  large_client_header_buffers 4 16k;
  server {
    listen 127.0.0.1:${port} default_server;
    if ($request_method !~ ^(GET|HEAD|POST)$) { return 405; }
    location / { return 404; }
  }
  server {
    listen 127.0.0.1:${port};
    server_name sho.rt;
    if ($request_method !~ ^(GET|HEAD|POST)$) { return 405; }
    location = /abc {
      if ($request_method = POST) { return 405; }
      return 302 https://example.com/;
    }
    location = /secret { return 401; }
    location = / { return 200; }
    location = /robots.txt { return 200; }
    location = /favicon.ico { return 204; }
    location / { return 404; }
  }
}
`;

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
