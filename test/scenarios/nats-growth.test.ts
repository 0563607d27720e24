/**
 * Goal: a fleet on one NATS server moves to a cluster of three, as docs/operations.md says ("From
 * one NATS server to three"), without a failed redirect, a lost link or a lost click.
 */
import { expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";

import { listSnapshots } from "../../shared/links-log/snapshots.ts";
import { call, callOnce, linkSchema, summarySchema } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { signerOf } from "../harness/links-log.ts";
import { NatsCluster } from "../harness/nats-cluster.ts";
import { ownNatsServer } from "../harness/nats.ts";
import { startRedirector, startWorker } from "../harness/processes.ts";
import { createDataDir, removeDataDir, type Stack, startStack } from "../harness/stack.ts";

const LINKS = 20;
const TIMEOUT_MS = 30_000;

test("one NATS server grows to three without a failed redirect, a lost link or a lost click", async () => {
  const program = await ownNatsServer();
  await using cleanup = new AsyncDisposableStack();
  const dataDir = createDataDir();
  cleanup.defer(() => removeDataDir(dataDir));
  const single = cleanup.use(await NatsCluster.start(program, { count: 1, tls: false }));
  const start = (env: Record<string, string>) => startStack({ dataDir, env });
  let stack: Stack = await start({ NATS_URL: single.url("operator") });
  cleanup.defer(() => stack[Symbol.asyncDispose]());
  const key = stack.info().api_key;
  const api = (path: string) => `${stack.info().api_url}${path}`;

  const links: { id: string; alias: string }[] = [];
  for (let i = 0; i < LINKS; i++) {
    const body = { url: `https://example.com/${i}` };
    links.push(linkSchema.parse((await call(api("/v1/links"), { key, body })).body));
  }
  const JOURNAL_DIR = join(dataDir, "moving-journal");
  mkdirSync(JOURNAL_DIR);
  const redirect = (env: Record<string, string>) => startRedirector(stack, { JOURNAL_DIR, ...env });
  let redirector = await redirect({ NATS_URL: single.url("redirector") });
  let rounds = 0;
  async function followAll(): Promise<void> {
    for (const { alias } of links)
      expect((await call(`${redirector.url}/${alias}`)).status).toBe(302);
    rounds++;
  }
  const expectCounted = () =>
    eventually(async () => {
      for (const { id } of links) {
        const { body } = await call(api(`/v1/analytics/${id}`), { key });
        expect(summarySchema.parse(body).summary.total_clicks).toBe(rounds);
      }
    }, TIMEOUT_MS);
  await followAll();
  // The stream of the old server is drained.
  await expectCounted();

  const cluster = cleanup.use(await NatsCluster.start(program, { tls: false }));
  await stack.stop();
  stack = await start({ NATS_URL: cluster.url("operator"), NATS_REPLICAS: "3" });
  const operator = await cluster.connect("operator");
  const manager = await operator.jetstreamManager();
  // Nobody has to do anything for the links.
  await eventually(async () => {
    const [snapshot] = await listSnapshots(manager, signerOf(stack.info()));
    expect(snapshot?.manifest.links).toBeGreaterThanOrEqual(LINKS);
  }, TIMEOUT_MS);
  const { streams } = manager;
  for (const stream of ["LINK_LOG", "LINK_SNAPSHOTS", "CLICKS", "CLICKS_DLQ"])
    expect((await streams.info(stream)).config.num_replicas).toBe(3);
  await operator.close();

  // This redirector has not moved yet.
  await followAll();
  await redirector.stop();
  mkdirSync(JOURNAL_DIR, { recursive: true });
  redirector = await redirect({ NATS_URL: cluster.url("redirector"), NATS_REPLICAS: "3" });
  cleanup.defer(() => redirector.stop());
  await followAll();
  await eventually(async () => {
    const { status, body } = await callOnce(`${redirector.metricsUrl}/readyz`);
    expect([status, body]).toEqual([200, expect.objectContaining({ warnings: {} })]);
  }, TIMEOUT_MS);
  await followAll();
  // The clicks that went to the old server last.
  cleanup.use(await startWorker(stack, { NATS_URL: single.url("worker") }));
  await expectCounted();
  const [first] = links;
  const change = { key, method: "PATCH", body: { url: "https://example.com/moved" } };
  await call(api(`/v1/links/${first?.id}`), change);
  await eventually(async () => {
    const { headers } = await call(`${redirector.url}/${first?.alias}`);
    if (headers.get("location") !== "https://example.com/moved") throw new Error("not moved");
  }, TIMEOUT_MS);
}, 280_000);
