/** Goal: with the NATS configuration that is shipped, each process may do what it must, and no more. */
import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { connect } from "nats";

import { findNatsServer } from "../../deploy/local/nats.ts";
import { createAccount } from "../harness/admin.ts";
import { call, linkAnswer } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort } from "../harness/ports.ts";
import { startApi, startRedirector, startWorker } from "../harness/processes.ts";
import { PROJECT_DIR, startStack } from "../harness/stack.ts";

const ARRIVED_MS = 20_000;

test("links and clicks pass under the users of deploy/nats, and nobody may do another's work", async () => {
  await using stack = await startStack();
  await using cleanup = new AsyncDisposableStack();
  const port = freePort();
  const config = join(stack.dataDir, "users.conf");
  const shipped = readFileSync(join(PROJECT_DIR, "deploy/nats/nats.conf"), "utf8");
  writeFileSync(
    config,
    shipped
      .replace("0.0.0.0:4222", `127.0.0.1:${port}`)
      .replace("127.0.0.1:8222", `127.0.0.1:${freePort()}`)
      .replace("/var/lib/nats", join(stack.dataDir, "users-store"))
      // Of nats-server 2.10; the one here may be older.
      .replace(/^.*sync_interval.*$/m, ""),
  );
  const program = await findNatsServer(join(PROJECT_DIR, ".local", "bin"), console.log);
  const server = Bun.spawn([program, "-c", config], {
    env: {
      NATS_SERVER_NAME: "test",
      NATS_REDIRECTOR_PASSWORD: "r",
      NATS_WORKER_PASSWORD: "w",
      NATS_API_PASSWORD: "a",
    },
    stdout: "ignore",
    stderr: "ignore",
  });
  cleanup.defer(async () => {
    server.kill();
    await server.exited;
  });
  const at = (user: string, password: string) => `nats://${user}:${password}@127.0.0.1:${port}`;
  await eventually(async () => {
    await (await connect({ servers: `127.0.0.1:${port}`, user: "api", pass: "a" })).close();
  }, ARRIVED_MS);

  const api = await startApi(stack, { NATS_URL: at("api", "a") });
  cleanup.defer(() => api.stop());
  const redirector = await startRedirector(stack, { NATS_URL: at("redirector", "r") });
  cleanup.defer(() => redirector.stop());
  const worker = await startWorker(stack, { NATS_URL: at("worker", "w") });
  cleanup.defer(() => worker.stop());

  const { key } = await createAccount(stack, "enterprise");
  const body = { url: "https://example.com/users" };
  const made = await call(`${api.url}/v1/links`, { key, body });
  expect(made.headers.get("x-propagation")).toBeNull();
  const { id, alias } = linkAnswer.parse(made.body);
  for (let i = 0; i < 5; i++) expect((await call(`${redirector.url}/${alias}`)).status).toBe(302);
  await eventually(async () => {
    const { body: told } = await call(`${api.url}/v1/links/${id}`, { key });
    expect(linkAnswer.parse(told).clicks).toBe(5);
  }, ARRIVED_MS);

  for (const [user, pass, subject] of [
    ["redirector", "r", "links._.stolen"],
    ["worker", "w", "links._.stolen"],
    ["worker", "w", "clicks.page"],
  ] as const) {
    const nats = await connect({ servers: `127.0.0.1:${port}`, user, pass });
    expect(nats.jetstream({ timeout: 1_000 }).publish(subject, Buffer.from("x"))).rejects.toThrow();
    await nats.close();
  }
});
