/**
 * Goal: the processes run on stores as providers run them: each demands TLS with a certificate of a
 * private authority, and NATS a credentials file.
 */
import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { createClient } from "../../clients/typescript/src/index.ts";
import { createAccount, runAdmin, withOwnDatabase } from "../harness/admin.ts";
import { call } from "../harness/api.ts";
import { createCertificates } from "../harness/certificates.ts";
import { eventually } from "../harness/eventually.ts";
import { startOperatorNats } from "../harness/nats-operator.ts";
import { startApi, startRedirector, startWorker } from "../harness/processes.ts";
import { readReadiness } from "../harness/services.ts";
import { startStack } from "../harness/stack.ts";

const TIMEOUT_MS = 30_000;

/** ClickHouse over TLS: forwards each request to the engine as it is. */
function startTlsProxy(target: string, { cert, key }: { cert: string; key: string }) {
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    tls: { cert: Bun.file(cert), key: Bun.file(key) },
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      const url = new URL(`${pathname}${search}`, target);
      const { method, headers } = request;
      // The body as bytes: a stream would be sent without its length.
      const body = method === "POST" ? await request.arrayBuffer() : null;
      return await fetch(url, { method, headers, body, decompress: false });
    },
  });
  return {
    port: server.port ?? 0,
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}

test("links and clicks flow over TLS of private authorities, with a credentials file for NATS", async () => {
  await using started = await startStack();
  const stack = await withOwnDatabase(started, "managed");
  await using nats = await startOperatorNats();
  await using cleanup = new AsyncDisposableStack();
  const dir = mkdtempSync(join(tmpdir(), "shorthop-ca-"));
  cleanup.defer(() => rmSync(dir, { recursive: true }));
  const certificates = createCertificates(dir);
  await using proxy = startTlsProxy(stack.info().clickhouse_url, certificates);
  const clickhouse = new URL(stack.info().clickhouse_url);
  clickhouse.protocol = "https:";
  clickhouse.port = String(proxy.port);
  const withAuthority = `${clickhouse.href}?ca_cert=${certificates.ca}`;

  const environment = (user: string) => ({
    NATS_URL: nats.url,
    NATS_CREDS: nats.createUser(user),
    NATS_CA_FILE: nats.ca,
    CLICKHOUSE_URL: withAuthority,
  });
  const api = cleanup.use(await startApi(stack, environment("api")));
  const redirector = cleanup.use(await startRedirector(stack, environment("redirector")));
  const worker = cleanup.use(await startWorker(stack, environment("worker")));
  for (const { metricsUrl } of [api, redirector, worker])
    await eventually(async () => {
      const { status } = await call(`${metricsUrl}/readyz`);
      expect(status).toBe(200);
    }, TIMEOUT_MS);

  const { key } = await createAccount(stack, "enterprise");
  const client = createClient({ baseUrl: api.url, apiKey: key });
  const link = await client.links.create({ url: "https://example.com/managed", alias: "managed" });
  const { status } = await call(new URL("managed", redirector.url).href);
  expect(status).toBe(302);
  await eventually(async () => {
    expect((await client.links.get(link.id)).clicks).toBe(1);
    expect((await client.analytics.summary(link.id)).summary.total_clicks).toBe(1);
  }, TIMEOUT_MS);
  expect((await readReadiness(api.metricsUrl)).warnings).toEqual({});

  // The command line connects as the processes do.
  const listed = await runAdmin(stack, ["status", "--json"], environment("api"));
  expect([listed.code, listed.stderr]).toEqual([0, ""]);
  const check = await runAdmin(stack, ["config", "check", "worker"], {
    ...environment("worker"),
    DATABASE_URL: stack.info().database_url,
    SHORT_URL: "https://sho.rt",
    VISITOR_HASH_SECRET: "secret of this test",
  });
  expect([check.code, check.stdout]).toEqual([0, expect.stringContaining("NATS_URL")]);
  const without = await runAdmin(stack, ["status"], { ...environment("api"), NATS_CA_FILE: "" });
  expect(without.code).toBe(1);
});
