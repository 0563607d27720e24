/** Goal: with the shipped NATS configuration each process may do only what it must. */
import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { connect } from "nats";

import { findNatsServer } from "../../deploy/local/nats.ts";
import { natsLogin } from "../../shared/nats.ts";
import { createAccount } from "../harness/admin.ts";
import { call, linkSchema } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort } from "../harness/ports.ts";
import { startApi, startRedirector, startWorker } from "../harness/processes.ts";
import { PROJECT_DIR, startStack } from "../harness/stack.ts";

const TIMEOUT_MS = 20_000;

/** Inboxes of the other users. */
const OTHER_INBOXES = {
  redirector: ["_INBOX_api.>", "_INBOX_worker.>"],
  worker: ["_INBOX_api.>", "_INBOX_redirector.>"],
  api: ["_INBOX_redirector.>", "_INBOX_worker.>"],
};

test("links and clicks flow with the users of deploy/nats, and no user may do more than its process needs", async () => {
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
      // A setting of nats-server 2.10; this machine's may be older.
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
    await (await connect(natsLogin(at("api", "a")))).close();
  }, TIMEOUT_MS);

  const api = await startApi(stack, { NATS_URL: at("api", "a") });
  cleanup.defer(() => api.stop());
  const redirector = await startRedirector(stack, { NATS_URL: at("redirector", "r") });
  cleanup.defer(() => redirector.stop());
  const worker = await startWorker(stack, { NATS_URL: at("worker", "w") });
  cleanup.defer(() => worker.stop());

  const { key } = await createAccount(stack, "enterprise");
  const body = { url: "https://example.com/users" };
  const created = await call(`${api.url}/v1/links`, { key, body });
  expect(created.headers.get("x-propagation")).toBeNull();
  const { id, alias } = linkSchema.parse(created.body);
  const expectClicks = async (clicks: number) => {
    for (let i = 0; i < 5; i++) expect((await call(`${redirector.url}/${alias}`)).status).toBe(302);
    await eventually(async () => {
      const { body: updated } = await call(`${api.url}/v1/links/${id}`, { key });
      expect(linkSchema.parse(updated).clicks).toBe(clicks);
    }, TIMEOUT_MS);
  };
  await expectClicks(5);
  // The next worker reads the last batch again from the stream.
  process.kill(worker.pid, "SIGKILL");
  const next = await startWorker(stack, { NATS_URL: at("worker", "w") });
  cleanup.defer(() => next.stop());
  await expectClicks(10);

  for (const [user, pass, subject] of [
    ["redirector", "r", "links._.stolen"],
    ["worker", "w", "links._.stolen"],
    ["worker", "w", "clicks.segment"],
  ] as const) {
    const nats = await connect(natsLogin(at(user, pass)));
    expect(nats.jetstream({ timeout: 1_000 }).publish(subject, Buffer.from("x"))).rejects.toThrow();
    await nats.close();
  }

  // A stolen password must not allow destroying a stream or reading the others' inboxes.
  for (const [user, pass] of [
    ["redirector", "r"],
    ["worker", "w"],
    ["api", "a"],
  ] as const) {
    const nats = await connect(natsLogin(at(user, pass)));
    for (const stream of ["LINKS", "CLICKS", "CLICKS_DLQ"]) {
      for (const call of ["PURGE", "DELETE", "UPDATE", "SNAPSHOT", "RESTORE"])
        expect(
          nats.request(`$JS.API.STREAM.${call}.${stream}`, "{}", { timeout: 1_000 }),
        ).rejects.toThrow(/permission/i);
    }
    for (const inboxes of ["_INBOX.>", ...OTHER_INBOXES[user], ">"]) {
      const { promise, resolve } = Promise.withResolvers<Error | null>();
      nats.subscribe(inboxes, { callback: (error) => resolve(error) });
      expect(String(await promise)).toMatch(/permission/i);
    }
    await nats.close();
  }
});
