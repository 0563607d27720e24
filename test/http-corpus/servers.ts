/** The servers that the corpus is sent to: our redirector's, and nginx with the same links. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { LinkCache } from "../../redirector/cache/link-cache.ts";
import { FORM_BYTES_MAX } from "../../redirector/passwords/password.ts";
import type { ActiveLink } from "../../shared/contracts/link-record.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort } from "../harness/ports.ts";
import { redirectorConfig, serveCached } from "../harness/redirector-config.ts";

export type CorpusServer = { port: number; stop(): Promise<void> };

const START_TIMEOUT_MS = 5_000;

const link = (alias: string, password_hash: string | null): ActiveLink => ({
  state: "active",
  version: 1,
  domain: "",
  alias,
  link_id: "0190a5a2-0000-7000-8000-000000000001",
  account_id: "0190a5a2-0000-7000-8000-000000000002",
  mode: "test",
  destination: "https://example.com/",
  expires_at: null,
  password_hash,
  forward_query: false,
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
  const port = freePort();
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
