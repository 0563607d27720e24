/**
 * Goal: an account whose links are as large as links can be delays nobody else's new links, whatever
 * a host has to read again: all of them while it runs or is restarted, from the first on an empty
 * host, and what changed while it was away. Method: a stack, and links that together are twice as
 * large as NATS lets wait for a client.
 */
import { expect, test } from "bun:test";
import { mkdtempSync } from "node:fs";
import { join } from "node:path";

import { encodeId, type Uuid } from "../../shared/ids.ts";
import { admin, createAccount, UNLIMITED, withPostgres } from "../harness/admin.ts";
import { call, callOnce } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { forFile } from "../harness/for-file.ts";
import { startRedirector } from "../harness/processes.ts";
import { readReadiness, waitUntilEnded } from "../harness/services.ts";
import { startStack } from "../harness/stack.ts";

const LINKS = 2_000;

/** Together with the destination as much as a link may have. */
const RULES = Array.from({ length: 7 }, (_, i) => ({
  conditions: [{ type: "os", in: ["iOS"] }],
  url: `https://example.com/${i}/${"a".repeat(8_000)}`,
}));
const destinationOf = (version: number) => `https://example.com/${version}/${"b".repeat(5_000)}`;

/**
 * Latest time until a new link redirects, beside whatever else the machine does, and until a host
 * has every link. How soon it was on a quiet machine is printed.
 */
const NEW_LINK_MS = 10_000;
const COMPLETE_MS = 60_000;

/** Between two new links while a snapshot is taken. */
const PAUSE_MS = 500;

const stack = await forFile(startStack());
const [{ key: large }, { key: other }] = await Promise.all([
  createAccount(stack, "enterprise", UNLIMITED),
  createAccount(stack, "enterprise", UNLIMITED),
]);
const body = { alias: "large-0", url: destinationOf(0), rules: RULES };

const api = (path: string): string => `${stack.info().api_url}${path}`;

/** Copies a link in PostgreSQL, which takes a thousandth of the time; returns the copies' ids. */
const copyLink = (word: string, count: number): Promise<string[]> =>
  withPostgres(stack, async (sql) => {
    const rows = await sql<{ id: Uuid }[]>`
      with added as (
        insert into links (id, account_id, mode, alias, original_url, target_url, title, extras, version, created_at, updated_at)
        select gen_random_uuid(), account_id, mode, ${word} || '-' || i, original_url, target_url, title, extras, version, created_at, updated_at
          from links, generate_series(1, ${count}::integer) i where alias = ${word} || '-0'
        returning id, account_id, mode)
      insert into link_counters (link_id, account_id, mode) select id, account_id, mode from added
      returning link_id as id`;
    return rows.map(({ id }) => encodeId("link", id));
  });

let created = 0;

/** Creates a link of the other account; returns how long it takes until it redirects. */
async function timeNewLink(origin: string): Promise<number> {
  const alias = `new-${created++}`;
  const url = `https://example.com/${alias}`;
  const { status } = await call(api("/v1/links"), { key: other, body: { alias, url } });
  expect(status).toBe(201);
  const startedAt = performance.now();
  await eventually(
    async () => expect((await callOnce(`${origin}/${alias}`)).headers.get("location")).toBe(url),
    COMPLETE_MS,
  );
  return performance.now() - startedAt;
}

function expectSoon(situation: string, times: readonly number[]): void {
  const worst = Math.max(...times);
  console.log(`${situation}: ${times.length} new links, within ${Math.round(worst)} ms`);
  expect(worst).toBeLessThan(NEW_LINK_MS);
}

/** Times new links until something has ended, at least one. */
async function timeNewLinks(origin: string, until: Promise<unknown>): Promise<number[]> {
  let hasEnded = false;
  const end = until.finally(() => (hasEnded = true));
  const times: number[] = [];
  do {
    times.push(await timeNewLink(origin));
    await Bun.sleep(PAUSE_MS);
  } while (!hasEnded);
  await end;
  return times;
}

const resync = () => admin<{ links: number }>(stack, ["links", "resync"]);

const { status } = await call(api("/v1/links"), { key: large, body });
expect(status).toBe(201);
const ids = await copyLink("large", LINKS - 1);
await resync();
console.log(`${ids.length} copies of a link of ${JSON.stringify(body).length} bytes`);

/** Waits until a redirector has every link, and says so. */
async function expectComplete(metricsUrl: string): Promise<number> {
  const startedAt = performance.now();
  await eventually(async () => {
    const { parts, warnings } = await readReadiness(metricsUrl);
    expect(parts["links_feed"]).toBe("ok");
    expect(warnings["links_feed"]).toBeUndefined();
  }, COMPLETE_MS);
  return performance.now() - startedAt;
}

test("a host that runs, while it takes a snapshot of all links", async () => {
  const { short_url, redirector_metrics_url } = stack.info();
  expectSoon("a host that runs", await timeNewLinks(short_url, resync()));
  await expectComplete(redirector_metrics_url);
});

test("a host without links has all of them in seconds", async () => {
  const startedAt = performance.now();
  const host = await startRedirector(stack);
  await expectComplete(host.metricsUrl);
  const seconds = (performance.now() - startedAt) / 1_000;
  console.log(`an empty host: complete after ${seconds.toFixed(1)} s`);
  expectSoon("an empty host", [await timeNewLink(host.url)]);
  await host.stop();
});

test("a host that is killed and started again while it takes a snapshot of all links", async () => {
  const LINKS_DIR = mkdtempSync(join(stack.dataDir, "restarted-"));
  const before = await startRedirector(stack, { LINKS_DIR });
  const resynced = resync();
  await Bun.sleep(PAUSE_MS);
  process.kill(before.pid, "SIGKILL");
  await waitUntilEnded(before.pid);
  const host = await startRedirector(stack, { LINKS_DIR });
  expectSoon("a restarted host", await timeNewLinks(host.url, resynced));
  await expectComplete(host.metricsUrl);
  await host.stop();
});

test("a host that was away while every large link changed", async () => {
  const LINKS_DIR = mkdtempSync(join(stack.dataDir, "away-"));
  await (await startRedirector(stack, { LINKS_DIR })).stop();
  for (let start = 0; start < ids.length; start += 100) {
    const links = ids.slice(start, start + 100).map((id) => ({ id, url: destinationOf(1) }));
    const { status } = await call(api("/v1/links/bulk"), {
      key: large,
      method: "PATCH",
      body: { links },
    });
    expect(status).toBe(200);
  }
  const host = await startRedirector(stack, { LINKS_DIR });
  expectSoon("a host that was away", [await timeNewLink(host.url)]);
  await eventually(async () =>
    expect((await callOnce(`${host.url}/large-${LINKS - 1}`)).headers.get("location")).toBe(
      destinationOf(1),
    ),
  );
  await expectComplete(host.metricsUrl);
  await host.stop();
});
