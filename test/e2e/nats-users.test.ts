/** Goal: with the shipped NATS configuration each process may do only what it must. */
import { expect, test } from "bun:test";

import { createAccount } from "../harness/admin.ts";
import { call, linkSchema } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { startNatsCluster } from "../harness/nats-cluster.ts";
import { ownNatsServer } from "../harness/nats-versions.ts";
import { startApi, startRedirector, startWorker } from "../harness/processes.ts";
import { startStack } from "../harness/stack.ts";

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
  await using nats = await startNatsCluster(await ownNatsServer(), { count: 1 });
  const environment = (user: "api" | "redirector" | "worker") => ({
    ...nats.env,
    NATS_URL: nats.url(user),
  });
  const api = await startApi(stack, environment("api"));
  cleanup.defer(() => api.stop());
  const redirector = await startRedirector(stack, environment("redirector"));
  cleanup.defer(() => redirector.stop());
  const worker = await startWorker(stack, environment("worker"));
  cleanup.defer(() => worker.stop());

  const { key } = await createAccount(stack, "enterprise");
  const body = { url: "https://example.com/users" };
  const created = await call(`${api.url}/v1/links`, { key, body });
  expect(created.headers.get("x-propagation")).toBeNull();
  const { id, alias } = linkSchema.parse(created.body);
  for (let i = 0; i < 5; i++) expect((await call(`${redirector.url}/${alias}`)).status).toBe(302);
  await eventually(async () => {
    const { body: updated } = await call(`${api.url}/v1/links/${id}`, { key });
    expect(linkSchema.parse(updated).clicks).toBe(5);
  }, TIMEOUT_MS);

  for (const [user, subject] of [
    ["redirector", "links._.stolen"],
    ["worker", "links._.stolen"],
    ["worker", "clicks.segment"],
    ["api", "clicks_dlq.segment"],
  ] as const) {
    const connection = await nats.connect(user);
    expect(
      connection.jetstream({ timeout: 1_000 }).publish(subject, Buffer.from("x")),
    ).rejects.toThrow();
    await connection.close();
  }

  // A stolen password must not allow destroying a stream, stealing its messages or reading the others' inboxes.
  for (const user of ["redirector", "worker", "api"] as const) {
    const connection = await nats.connect(user);
    const forbidden = ["LINKS", "CLICKS", "CLICKS_DLQ"].flatMap((stream) => [
      ...["PURGE", "DELETE", "UPDATE", "SNAPSHOT", "RESTORE", "PEER.REMOVE", "LEADER.STEPDOWN"].map(
        (call) => `STREAM.${call}.${stream}`,
      ),
      `CONSUMER.DELETE.${stream}.worker`,
      `CONSUMER.LEADER.STEPDOWN.${stream}.worker`,
      `CONSUMER.DURABLE.CREATE.${stream}.thief`,
      `CONSUMER.CREATE.${user === "redirector" ? "CLICKS" : "LINKS"}.thief`,
    ]);
    for (const subject of [...forbidden, "STREAM.CREATE.OTHER", "META.LEADER.STEPDOWN"])
      expect(connection.request(`$JS.API.${subject}`, "{}", { timeout: 1_000 })).rejects.toThrow(
        /permission/i,
      );
    for (const inboxes of ["_INBOX.>", ...OTHER_INBOXES[user], ">"]) {
      const { promise, resolve } = Promise.withResolvers<Error | null>();
      connection.subscribe(inboxes, { callback: (error) => resolve(error) });
      expect(String(await promise)).toMatch(/permission/i);
    }
    await connection.close();
  }

  const operator = await nats.connect("operator");
  const { streams } = await operator.jetstreamManager();
  expect((await streams.purge("CLICKS_DLQ")).success).toBe(true);
  await operator.close();
});
