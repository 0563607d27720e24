/**
 * Goal: each ambiguous request has one decision, and where another widely used parser decides
 * differently, a reason is given. After a change that is meant, edit the line of the request.
 */
import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import * as z from "zod";

import { findFreePort } from "../../deploy/local/ports.ts";
import { LinkCache } from "../../redirector/cache/link-cache.ts";
import { FORM_BYTES_MAX } from "../../redirector/passwords/password.ts";
import { eventually } from "../harness/eventually.ts";
import { forFile } from "../harness/for-file.ts";
import { activeLink } from "../harness/links-log.ts";
import { redirectorConfig, serveCached } from "../harness/redirector-config.ts";

/** Concurrent requests. */
const CONCURRENCY = 16;

/** Requests that are sent again when they differ: a stalled machine looks like a silent server. */
const ATTEMPTS = 5;

/** The version that the decisions of nginx were recorded with: Debian 12's. */
const NGINX_VERSION = "1.22";

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

type CorpusLine = z.output<typeof corpusLine>;

/** The corpus, one JSON object per line. */
const text = await Bun.file(new URL("requests.jsonl", import.meta.url)).text();
const corpus = text
  .trim()
  .split("\n")
  .map((line) => corpusLine.parse(JSON.parse(line)));

const ours = await forFile(startOurServer(), (ours) => ours.stop());

/** Sends the corpus; returns the requests whose statuses differ from the expected ones. */
async function findDifferences(
  port: number,
  expected: (line: CorpusLine) => string,
): Promise<{ name: string; expected: string; statuses: string }[]> {
  const differences: { name: string; expected: string; statuses: string }[] = [];
  let next = 0;
  const send = async (): Promise<void> => {
    for (let line = corpus[next++]; line !== undefined; line = corpus[next++]) {
      let statuses = "";
      for (let i = 0; i < ATTEMPTS && (i === 0 || statuses !== expected(line)); i++) {
        statuses = await sendRequest(port, line.request);
      }
      if (statuses !== expected(line))
        differences.push({ name: line.name, expected: expected(line), statuses });
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, send));
  return differences;
}

describe("the corpus of ambiguous requests", () => {
  test("has at least 600 different ones, and a reason for each difference from nginx", () => {
    expect(new Set(corpus.map(({ name }) => name)).size).toBe(corpus.length);
    expect(new Set(corpus.map(({ request }) => JSON.stringify(request))).size).toBeGreaterThan(600);
    const differing = corpus.filter(({ nginx }) => nginx !== undefined);
    expect(differing.filter(({ reason }) => !Object.hasOwn(REASONS, reason ?? ""))).toEqual([]);
    const used = new Set(differing.map(({ reason }) => reason));
    expect(Object.keys(REASONS).filter((key) => !used.has(key))).toEqual([]);
  });

  test("gets the recorded decisions", async () => {
    expect(await findDifferences(ours.port, ({ statuses }) => statuses)).toEqual([]);
  });

  test("gets the recorded decisions of nginx", async () => {
    const nginx = await startNginx(NGINX_VERSION);
    if (nginx === undefined) {
      console.warn(`\n!!! nginx ${NGINX_VERSION} is not installed: NOT COMPARED\n`);
      return;
    }
    try {
      const differences = await findDifferences(nginx.port, (line) => line.nginx ?? line.statuses);
      expect(differences).toEqual([]);
    } finally {
      await nginx.stop();
    }
  });
});

/** Why the redirector decides differently from nginx, by the keys that the corpus refers to. */
const REASONS: Readonly<Record<string, string>> = {
  version:
    "Only HTTP/1.x is accepted (505), and one digit after the dot; nginx is looser or closes silently.",
  request_line:
    "One blank separates the parts of a request line (RFC 9112 §3); nginx accepts several.",
  line_ends:
    "Lines end with CR LF, and at most one is empty before a request (RFC 9112 §2.2): parsers that accept other ends " +
    "disagree about where a field or a head ends. nginx accepts LF.",
  field_syntax:
    "Field names are tokens and values have no control characters (RFC 9110 §5.1, §5.5); nginx accepts most bytes.",
  host: "A host has the form of a name or an address, with a port of at most five digits; nginx accepts nearly any text, but no underscore in an absolute target.",
  method:
    "Unknown methods get 405, and a method is at most 16 characters; nginx rejects lower case, TRACE and CONNECT as malformed. A form is posted only to a link.",
  body_of_a_form:
    "Only a posted form may have a body: that of a GET would be read differently elsewhere.",
  connection_options:
    "`close` wins over `keep-alive`, and only the option itself counts (RFC 9112 §9.6); nginx takes the last field, and any text that contains `close`.",
  expectation:
    "Only `100-continue` can be met, once, and it is ignored without a body and in HTTP/1.0; others get 417 (RFC 9110 §10.1.1).",
  coding: "Both reject it; which status a malformed or unknown coding gets differs.",
  chunk_syntax:
    "Chunks are read strictly (RFC 9112 §7.1), before the request is handled; nginx accepts other line ends and any trailer, and responds before it has read the body.",
  bounds: "Our bounds differ from those of nginx.",
  incomplete: "nginx responds before the body has arrived.",
  malformed_path:
    "A malformed path, or one with `..`, gets 400 and the connection stays open, as its framing is clear; nginx closes it, and resolves `..` below the root.",
  normalized_path: "`.` is not resolved: there is no link at such a path.",
  fragment: "`#` is not special in a request's target; clients never send it.",
  glued:
    "What cannot be part of an alias is dropped where a path has no alias as it came: people paste it along with short URLs.",
  health_check: "`/healthz` is for load balancers.",
  trailing_slash: "One trailing slash is dropped.",
};

type CorpusServer = { port: number; stop(): Promise<void> };

const START_TIMEOUT_MS = 5_000;

/**
 * Starts a redirector's server with the links `/abc` and `/secret`, which has a password that
 * nobody knows.
 */
function startOurServer(): CorpusServer {
  const cache = new LinkCache(1024 ** 2);
  for (const [alias, password_hash] of [
    ["abc", null],
    ["secret", "x"],
  ] as const)
    cache.put({ ...activeLink(alias, 1), password_hash });
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
async function startNginx(version: string): Promise<CorpusServer | undefined> {
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

/**
 * Sent after each request: its response shows that the server and the author of the request agree
 * where the request ends.
 */
const LAST = "GET /abc?last HTTP/1.1\r\nHost: sho.rt\r\nConnection: close\r\n\r\n";

/** How long a server may be silent before the client closes its side of an incomplete request. */
const SILENCE_MS = 400;

/** Sends a request, and another one; returns the statuses of all responses, e.g. `302 302`. */
async function sendRequest(port: number, request: CorpusLine["request"]): Promise<string> {
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
