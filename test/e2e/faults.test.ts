/**
 * Goal: after a fault no existing link is 404, every click is counted once, and nobody has to do
 * anything. Faults of all kinds, at all times, are scenarios (`bun run test:scenarios --list`).
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync } from "node:fs";
import { dirname, join } from "node:path";

import { admin, createAccount, UNLIMITED } from "../harness/admin.ts";
import { call, callOnce, linkSchema, summarySchema } from "../harness/api.ts";
import { BatchWorkers, INSERT, MANIFEST } from "../harness/batch-workers.ts";
import { canMountDisks, mountDisk, unmountDisk } from "../harness/disks.ts";
import { eventually } from "../harness/eventually.ts";
import { forFile } from "../harness/for-file.ts";
import { startApi, startRedirector } from "../harness/processes.ts";
import { LONG } from "../harness/property-runs.ts";
import { pidOf, readReadiness } from "../harness/services.ts";
import { createDataDir, findProcesses, removeDataDir, startStack } from "../harness/stack.ts";

/** Latest time until what failed is as before. */
const RECOVERY_MS = 30_000;

/** A URL on which no server listens. */
const NOWHERE = "127.0.0.1:1";

type Link = { id: string; alias: string };

const dataDir = await forFile(createDataDir(), removeDataDir);
let stack = await forFile(startStack({ dataDir }));
const { key } = await createAccount(stack, "enterprise", UNLIMITED);
let created = 0;

/** Creates a link that leads to its alias on example.com. */
async function createLink(): Promise<Link> {
  const alias = `fault-${created++}`;
  const body = { alias, url: `https://example.com/${alias}` };
  return linkSchema.parse((await call(`${stack.info().api_url}/v1/links`, { key, body })).body);
}

/** Requests a short link once; returns status and destination. */
async function follow(origin: string, { alias }: Pick<Link, "alias">): Promise<string> {
  const { status, headers } = await callOnce(`${origin}/${alias}`);
  return `${status} ${headers.get("location") ?? ""}`.trim();
}

const leadsHome = ({ alias }: Link): string => `302 https://example.com/${alias}`;

const expectClicks = ({ id }: Link, clicks: number): Promise<void> =>
  eventually(async () => {
    const { body } = await callOnce(`${stack.info().api_url}/v1/analytics/${id}`, { key });
    expect(summarySchema.parse(body).summary.total_clicks).toBe(clicks);
  }, RECOVERY_MS);

const UNKNOWN = { alias: "never-was-there" };

describe("a worker that is killed stores each segment once", () => {
  let batches: BatchWorkers;
  beforeAll(async () => void (batches = await BatchWorkers.start(stack)));
  afterAll(async () => await batches[Symbol.asyncDispose]());
  beforeEach(() => batches.beginTest());
  afterEach(() => batches.endTest());

  test.each([
    ["before the manifest", MANIFEST, "before"],
    ["between manifest and insert", INSERT, "before"],
    ["between insert and acknowledgements", INSERT, "after"],
  ] as const)("%s", async (_, statement, when) => {
    const { segments } = await batches.publishAndHold(statement, when);
    await batches.replaceWorker();
    await batches.expectStoredOnce(segments);
    await batches.waitUntilAcknowledged();
    await batches.expectNothingTwice();
  });
});

test("a redirector that starts without NATS serves the links of its host, records clicks, and catches up later", async () => {
  const JOURNAL_DIR = mkdtempSync(join(dataDir, "outage-"));
  const [known, changed] = [await createLink(), await createLink()];
  const first = await startRedirector(stack, { JOURNAL_DIR });
  for (const link of [known, changed]) expect(await follow(first.url, link)).toBe(leadsHome(link));
  await first.stop();
  const change = { key, method: "PATCH", body: { url: "https://example.com/after" } };
  await call(`${stack.info().api_url}/v1/links/${changed.id}`, change);

  const away = await startRedirector(stack, { JOURNAL_DIR, NATS_URL: `nats://${NOWHERE}` });
  expect((await callOnce(`${away.metricsUrl}/readyz`)).status).toBe(503);
  for (let i = 0; i < 20; i++) expect(await follow(away.url, known)).toBe(leadsHome(known));
  // Links may have been created since.
  expect(await follow(away.url, UNKNOWN)).toBe("503");
  await away.stop();

  const back = await startRedirector(stack, { JOURNAL_DIR });
  // With NATS, already its first response has the changes since then.
  expect(await follow(back.url, changed)).toBe("302 https://example.com/after");
  expect((await callOnce(`${back.metricsUrl}/readyz`)).status).toBe(200);
  await expectClicks(known, 21);
  await back.stop();
});

test.skipIf(!canMountDisks())(
  "a redirector that starts on a full disk redirects, and says what is lost",
  async () => {
    const link = await createLink();
    const disk = mkdtempSync(join(dataDir, "disk-"));
    mountDisk(disk, "1m");
    try {
      Bun.spawnSync(["dd", "if=/dev/zero", `of=${join(disk, "other")}`, "bs=4k"]);
      const redirector = await startRedirector(stack, { JOURNAL_DIR: join(disk, "journal") });
      expect(await follow(redirector.url, link)).toBe(leadsHome(link));
      expect((await readReadiness(redirector.metricsUrl)).warnings).toMatchObject({
        disk: expect.stringContaining("clicks are lost"),
        links_store: expect.stringContaining("in memory"),
      });
      await redirector.stop();
    } finally {
      unmountDisk(disk);
    }
  },
);

test("without ClickHouse only analytics are away", async () => {
  const { id } = await createLink();
  const affected = await startApi(stack, { CLICKHOUSE_URL: `http://${NOWHERE}` });
  const get = (path: string) => callOnce(`${affected.url}${path}`, { key });
  for (const path of ["", `/${id}`, `/${id}/geo`]) {
    const { status, body, headers } = await get(`/v1/analytics${path}`);
    expect([path, status, body]).toMatchObject([path, 503, { error: { code: "unavailable" } }]);
    expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
  }
  for (const path of ["", `/${id}`]) expect((await get(`/v1/links${path}`)).status).toBe(200);
  await affected.stop();
});

const SERVICES = ["redirector", "api", "worker", "clickhouse", "nats", "postgres"] as const;

/** Other tests kill NATS and workers. */
const KILLED = LONG ? SERVICES : SERVICES.slice(0, 2);

/** Kills a process of the stack, and waits until all are ready again. */
async function killService(name: (typeof SERVICES)[number]): Promise<void> {
  const pid = pidOf(stack, name);
  process.kill(pid, "SIGKILL");
  await eventually(async () => {
    expect(pidOf(stack, name)).not.toBe(pid);
    const { api_metrics_url, redirector_metrics_url, worker_metrics_url } = stack.info();
    for (const url of [api_metrics_url, redirector_metrics_url, worker_metrics_url])
      expect((await callOnce(`${url}/readyz`)).status).toBe(200);
  }, RECOVERY_MS);
}

test("processes that are killed start again, and a stack whose supervisor is killed leaves no process and keeps links and clicks", async () => {
  const link = await createLink();
  let clicks = 0;
  const count = async (): Promise<void> => {
    expect(await follow(stack.info().short_url, link)).toBe(leadsHome(link));
    clicks++;
  };
  for (const name of KILLED) {
    await count();
    await killService(name);
    const later = await eventually(createLink, RECOVERY_MS);
    // A redirector that is behind says so, and never that there is no such link.
    const found = await eventually(async () => {
      const outcome = await follow(stack.info().short_url, later);
      if (outcome === "503") throw new Error("The redirector is behind.");
      return outcome;
    }, RECOVERY_MS);
    expect(found).toBe(leadsHome(later));
  }
  await count();
  await stack.stop("SIGKILL");
  await eventually(async () => expect(findProcesses(dirname(dataDir))).toEqual([]), RECOVERY_MS);
  stack = await forFile(startStack({ dataDir }));
  await count();
  await expectClicks(link, clicks);

  // An operator finds each click once, and no figure that is not that of the clicks.
  await eventually(
    async () =>
      expect(await admin(stack, ["reconcile"])).toMatchObject({
        in_stream: 0,
        in_journals: 0,
        duplicates: 0,
        dead_lettered: 0,
      }),
    RECOVERY_MS,
  );
  expect(await admin(stack, ["check-rollups"])).toMatchObject({ differences: 0 });
});
