/**
 * Goal: one fault of each kind, on one installation with thousands of links: no existing link is
 * 404, every click is counted once, and nobody has to do anything. Faults of all kinds, at all
 * times, are scenarios (`bun run test:scenarios --list`).
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";

import { connect } from "nats";
import * as z from "zod";

import { BULK_LINKS_MAX } from "../../shared/contracts/link-schemas.ts";
import { listSnapshots, type StoredSnapshot } from "../../shared/links-log/snapshots.ts";
import { natsLogin } from "../../shared/nats.ts";
import { admin, createAccount, UNLIMITED } from "../harness/admin.ts";
import { call, callOnce, summarySchema } from "../harness/api.ts";
import { BatchWorkers, INSERT, MANIFEST } from "../harness/batch-workers.ts";
import { canMountDisks, mountDisk, unmountDisk } from "../harness/disks.ts";
import { eventually } from "../harness/eventually.ts";
import { forFile } from "../harness/for-file.ts";
import { signerOf } from "../harness/links-log.ts";
import { startApi, startRedirector } from "../harness/processes.ts";
import { LONG } from "../harness/property-runs.ts";
import { killNats, pidOf, readReadiness, readWarnings } from "../harness/services.ts";
import { createDataDir, findProcesses, removeDataDir, startStack } from "../harness/stack.ts";

const LINKS = 2_000;

/** Latest time until what failed is as before. */
const RECOVERY_MS = 30_000;

/** A URL on which no server listens. */
const NOWHERE = "127.0.0.1:1";

const bulkSchema = z.object({
  data: z.array(z.object({ link: z.object({ id: z.string(), alias: z.string() }) })),
});

type Link = { id: string; alias: string };

const dataDir = await forFile(createDataDir(), removeDataDir);
let stack = await forFile(startStack({ dataDir }));
const { key } = await createAccount(stack, "enterprise", UNLIMITED);
const links: Link[] = [];
while (links.length < LINKS) links.push(...(await createLinks(links.length, BULK_LINKS_MAX)));

/** Creates links; each leads to its alias on example.com. */
async function createLinks(from: number, count: number): Promise<Link[]> {
  const rows = Array.from({ length: count }, (_, i) => {
    const alias = `fault-${from + i}`;
    return { alias, url: `https://example.com/${alias}` };
  });
  const url = `${stack.info().api_url}/v1/links/bulk`;
  const { body } = await call(url, { key, body: { links: rows } });
  return bulkSchema.parse(body).data.map(({ link }) => link);
}

/** A link that no other test follows. */
async function createLink(): Promise<Link> {
  const [link] = await createLinks(links.length + (taken += 1), 1);
  if (link === undefined) throw new Error("No link was created.");
  return link;
}
let taken = 0;

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

test("a NATS that comes back empty is filled by itself: every link goes on", async () => {
  const origin = stack.info().short_url;
  const other = await startRedirector(stack);
  const cached = links.slice(0, 20);
  for (const link of cached) expect(await follow(origin, link)).toBe(leadsHome(link));
  await killNats(stack, () => rmSync(join(dataDir, "nats", "store"), { recursive: true }));
  const wrong = new Set<string>();
  const uncached = links.slice(20, -20);
  let filled = false;
  const following = (async () => {
    while (!filled) {
      for (const link of [...cached.slice(0, 5), ...uncached.splice(0, 5)])
        for (const url of [origin, other.url])
          if ((await follow(url, link)) !== leadsHome(link)) wrong.add(link.alias);
      // An alias without a link is 503 while nobody knows.
      const unknown = await follow(other.url, UNKNOWN);
      if (!["404", "503"].includes(unknown)) wrong.add(unknown);
      await Bun.sleep(100);
    }
  })();
  const feedWarnings = async (): Promise<string[]> => {
    const urls = [stack.info().api_metrics_url, other.metricsUrl];
    const warnings = await Promise.all(urls.map(readWarnings));
    return warnings.flatMap(({ links_feed }) => links_feed ?? []);
  };
  // The log goes on, and there is a snapshot again for hosts without links.
  await eventually(async () => {
    const [snapshot] = await readSnapshots();
    expect(snapshot?.manifest.links).toBeGreaterThanOrEqual(LINKS);
    expect(await feedWarnings()).toEqual([]);
  }, RECOVERY_MS);
  filled = true;
  await following;
  expect([...wrong]).toEqual([]);
  await eventually(async () => expect(await follow(other.url, UNKNOWN)).toBe("404"), RECOVERY_MS);
  const fresh = await startRedirector(stack);
  for (const link of [...cached, ...links.slice(-20)])
    expect(await follow(fresh.url, link)).toBe(leadsHome(link));
  await Promise.all([other.stop(), fresh.stop()]);
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
    const disk = mkdtempSync(join(dataDir, "disk-"));
    mountDisk(disk, "1m");
    try {
      Bun.spawnSync(["dd", "if=/dev/zero", `of=${join(disk, "other")}`, "bs=4k"]);
      const redirector = await startRedirector(stack, { JOURNAL_DIR: join(disk, "journal") });
      for (const link of links.slice(-1))
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
  const affected = await startApi(stack, { CLICKHOUSE_URL: `http://${NOWHERE}` });
  const get = (path: string) => callOnce(`${affected.url}${path}`, { key });
  for (const path of ["", `/${links[0]?.id}`, `/${links[0]?.id}/geo`]) {
    const { status, body, headers } = await get(`/v1/analytics${path}`);
    expect([path, status, body]).toMatchObject([path, 503, { error: { code: "unavailable" } }]);
    expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
  }
  for (const path of ["", `/${links[0]?.id}`])
    expect((await get(`/v1/links${path}`)).status).toBe(200);
  await affected.stop();
});

async function readSnapshots(): Promise<StoredSnapshot[]> {
  const nats = await connect(natsLogin(stack.info().nats_url));
  try {
    return await listSnapshots(await nats.jetstreamManager(), signerOf(stack.info()));
  } finally {
    await nats.close();
  }
}

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
    const created = await eventually(createLink, RECOVERY_MS);
    expect(await follow(stack.info().short_url, created)).toBe(leadsHome(created));
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
