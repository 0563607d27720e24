/**
 * Goal: with the shipped NATS configuration each process can do all that it must. What its user may
 * do beyond that is in credentials.test.ts, and where it may reply in test/e2e/nats-replies.test.ts.
 */
import { expect, test } from "bun:test";

import * as z from "zod";

import { processStatus } from "../../shared/status.ts";
import { createAccount, runAdmin, withOwnDatabase } from "../harness/admin.ts";
import { call, callOnce, linkSchema } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { NatsCluster } from "../harness/nats-cluster.ts";
import { ownNatsServer } from "../harness/nats.ts";
import { startApi, startRedirector, startWorker } from "../harness/processes.ts";
import { startStack } from "../harness/stack.ts";

const TIMEOUT_MS = 20_000;

type NatsUser = "api" | "redirector" | "worker";

test("links, clicks and reports flow with the users of deploy/nats", async () => {
  await using started = await startStack();
  const stack = await withOwnDatabase(started, "users");
  await using cleanup = new AsyncDisposableStack();
  await using nats = await NatsCluster.start(await ownNatsServer(), { count: 1 });
  const environment = (user: NatsUser) => ({
    ...nats.env,
    NATS_URL: nats.url(user),
  });
  const api = cleanup.use(await startApi(stack, environment("api")));
  const redirector = cleanup.use(
    await startRedirector(stack, {
      ...environment("redirector"),
      FAILURES_INTERVAL_SECONDS: "1",
    }),
  );
  const worker = cleanup.use(await startWorker(stack, environment("worker")));

  /**
   * Runs `shorthop status` as a user; returns its exit code, its messages, and the processes by
   * kind and id.
   */
  async function readStatus(user: NatsUser) {
    const { code, stdout, stderr } = await runAdmin(stack, ["status", "--json"], environment(user));
    const found = stdout === "" ? [] : z.array(processStatus).parse(JSON.parse(stdout));
    return { code, stderr, found, pids: found.map(({ process: kind, pid }) => [kind, pid]) };
  }

  // The log begins with the first account.
  const { key } = await createAccount(stack, "enterprise");
  // Each has all the permissions that it needs, and the redirector follows the links log.
  for (const { metricsUrl } of [api, redirector, worker]) {
    await eventually(async () => {
      const { status, body } = await callOnce(`${metricsUrl}/readyz`);
      expect([status, body]).toEqual([200, expect.objectContaining({ warnings: {} })]);
    }, TIMEOUT_MS);
  }

  // The worker competes with the stack's own, which has the same ClickHouse, so either is the
  // owner.
  const status = await eventually(async () => {
    const read = await readStatus("api");
    expect([read.code, read.stderr]).toEqual([0, ""]);
    expect(read.pids).toEqual([
      ["api", api.pid],
      ["redirector", redirector.pid],
      ["worker", worker.pid],
    ]);
    // A redirector that has just started does not count its links yet.
    expect(read.found.map(({ figures }) => Object.keys(figures).toSorted())).toEqual([
      ["outbox_pending"],
      [
        "connections",
        "feed_age_seconds",
        "feed_lag_messages",
        "journal_bytes",
        "links",
        "segments_pending",
      ],
      expect.arrayContaining(["owner"]),
    ]);
    return read;
  }, TIMEOUT_MS);
  // Only the API's user, which is also the command line's, and the operator may ask.
  expect(await readStatus("worker")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("may not request"),
  });

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
  await eventually(
    async () => expect((await readStatus("api")).pids).toEqual(status.pids.slice(0, 2)),
    TIMEOUT_MS,
  );
  cleanup.use(await startWorker(stack, environment("worker")));
  await expectClicks(10);

  // A limited link leads on once, and the API knows.
  const limited = linkSchema.parse(
    (await call(`${api.url}/v1/links`, { key, body: { ...body, max_clicks: 1 } })).body,
  );
  expect((await call(`${redirector.url}/${limited.alias}`)).status).toBe(302);
  await eventually(async () => {
    const { body: read } = await call(`${api.url}/v1/links/${limited.id}`, { key });
    expect(read).toMatchObject({ status: "limit_reached", clicks_left: 0 });
    expect((await callOnce(`${redirector.url}/${limited.alias}`)).status).toBe(410);
  }, TIMEOUT_MS);

  // Failed requests are reported, acknowledged, and shown.
  await call(`${api.url}/v1/links/${id}`, { key, method: "PATCH", body: { disabled: true } });
  await eventually(
    async () => expect((await callOnce(`${redirector.url}/${alias}`)).status).toBe(404),
    TIMEOUT_MS,
  );
  await eventually(async () => {
    const { body: failures } = await call(`${api.url}/v1/analytics/failures?link_id=${id}`, {
      key,
    });
    expect(failures).toMatchObject({ summary: { total: 1, disabled: 1 } });
    const metrics = await (await fetch(`${redirector.metricsUrl}/metrics`)).text();
    expect(metrics).toContain("shorthop_redirector_failure_reports_pending 0");
  }, TIMEOUT_MS);

  const operator = await nats.connect("operator");
  const { streams } = await operator.jetstreamManager();
  expect((await streams.purge("CLICKS_DLQ")).success).toBe(true);
  await operator.close();
});
