/**
 * `bun run bench:links-resync [LINKS] [DOMAINS]`: with so many links (a million) and domains that
 * have settings (100,000), how long a snapshot takes to be built, and a host from another history
 * until it has taken a snapshot and is at the head of the links log; what requests to the API and
 * the redirector notice of that; and how fast a host takes over changes that it has missed.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { connect } from "nats";
import postgres from "postgres";

import { readOutbox } from "../api/links-log/log.ts";
import { resyncHosts } from "../api/links-snapshots/hosts.ts";
import { buildSnapshot } from "../api/links-snapshots/snapshot.ts";
import { decodeId } from "../shared/ids.ts";
import { LINK_LOG_STREAM } from "../shared/links-log/tail.ts";
import { hasAllLinks } from "../shared/links-store/schema.ts";
import { natsLogin } from "../shared/nats.ts";
import { createAccount } from "../test/harness/admin.ts";
import { signerOf } from "../test/harness/links-log.ts";
import { seedLinks } from "../test/harness/links-seed.ts";
import { readCpu } from "../test/harness/process-usage.ts";
import { atLeast, atMost, publish, quantile, round, type Target } from "../test/harness/report.ts";
import { startStack } from "../test/harness/stack.ts";
import { secondsSince, stateOf, waitUntil } from "./links-host/host.ts";

const [links = 1_000_000, domains = 100_000] = process.argv.slice(2).map(Number);
const MILLIONS = links / 1_000_000;

/** Changes that a host has missed. */
const MISSED = Math.min(links, 300_000);

/** Between two requests that are timed, and how long they are timed while nothing else happens. */
const PROBE_MS = 20;
const QUIET_MS = 5_000;

await using stack = await startStack({ empty: true });
const { api_url, short_url, database_url, nats_url, pids } = stack.info();
const { api, redirector } = pids;
if (api === null || redirector === null) throw new Error("The stack does not run.");
const sql = postgres(database_url, { max: 2, onnotice: () => undefined });
const nats = await connect(natsLogin(nats_url));
const manager = await nats.jetstreamManager();
const account = await createAccount(stack, "enterprise");
const accountId = decodeId("acct", account.id);
if (accountId === undefined) throw new Error("The account has no id.");
await seedLinks(sql, accountId, links);
await seedDomains();

const rows: Record<string, string | number>[] = [];
const targets: Target[] = [];
const quiet = await probeDuring(() => Bun.sleep(QUIET_MS));
await measureBuilding();
for (const history of ["first", "another"]) await measureSwap(history);
await measureCatchingUp();
await nats.close();
await sql.end();
publish({ name: "links-resync", rows, targets });

/** Builds a snapshot and throws it away. */
async function measureBuilding(): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), "shorthop-bench-"));
  const startedAt = performance.now();
  const { apiMs, redirectorMs } = await probeDuring(async () => {
    await buildSnapshot(sql, join(dir, "links.sqlite"));
  });
  const seconds = secondsSince(startedAt);
  rmSync(dir, { recursive: true });
  rows.push({
    measured: "snapshot built",
    links,
    domains,
    s: seconds,
    "API p99 ms": round(apiMs),
    "redirector p99 ms": round(redirectorMs),
  });
  targets.push(atMost("snapshot built, s", seconds, links > 1_000_000 ? 4 * MILLIONS : 6));
}

/** Ends the history that the host has, and waits until it is at the head of the new one. */
async function measureSwap(history: string): Promise<void> {
  const cpuBefore = readCpu(api ?? 0);
  const startedAt = performance.now();
  let storedSeconds = 0;
  const { apiMs, redirectorMs } = await probeDuring(async () => {
    await resyncHosts(sql, manager, signerOf(stack.info()));
    storedSeconds = secondsSince(startedAt);
    const [{ term }] = await sql<
      [{ term: number }]
    >`select term::float8 as term from link_log_head`;
    await waitUntil(() => {
      const state = stateOf(stack.dataDir);
      return Promise.resolve(state.head.term >= term && hasAllLinks(state) && state.isCurrent);
    });
  });
  const seconds = secondsSince(startedAt);
  rows.push({
    measured: `swapped, of ${history} history`,
    links,
    domains,
    "stored s": storedSeconds,
    s: seconds,
    "API's CPU s": round((readCpu(api ?? 0) - cpuBefore) / 1e6),
    "API p99 ms": round(apiMs),
    "redirector p99 ms": round(redirectorMs),
  });
  targets.push(
    atMost(
      `${history} history: s from the snapshot until swapped`,
      seconds - storedSeconds,
      links > 1_000_000 ? 4 * MILLIONS : 5,
    ),
    atMost(`${history} history: API p99, times as long as before`, apiMs / quiet.apiMs, 1.2),
    atMost(`${history} history: redirector p99 ms`, redirectorMs, 100),
  );
}

/** How fast a host takes over what it missed, while NATS and the API have nothing else to do. */
async function measureCatchingUp(): Promise<void> {
  process.kill(redirector ?? 0, "SIGSTOP");
  await sql`
    insert into link_outbox (domain, alias, state)
    select '', alias, json_build_object(
             'state', 'active', 'version', version, 'domain', '', 'alias', alias, 'link_id', id, 'account_id', account_id,
             'mode', mode, 'destination', target_url, 'expires_at', null, 'password_hash', null, 'forward_query', false)::text
      from links limit ${MISSED}`;
  await waitUntil(async () => (await readOutbox(sql)).pending === 0);
  const { state } = await manager.streams.info(LINK_LOG_STREAM);
  process.kill(redirector ?? 0, "SIGCONT");
  const startedAt = performance.now();
  await waitUntil(() => Promise.resolve(stateOf(stack.dataDir).sequence >= state.last_seq));
  const perSecond = Math.round(MISSED / secondsSince(startedAt));
  rows.push({ measured: "catching up", links: MISSED, "changes/s": perSecond });
  targets.push(atLeast("changes/s, catching up", perSecond, 30_000));
}

/** Verified domains with settings, each of which has a notice. */
async function seedDomains(): Promise<void> {
  await sql`
    insert into domains (id, account_id, mode, host, verification_value, verified_at, settings)
    select gen_random_uuid(), ${accountId ?? null}, 'live', 'd' || i || '.example.com', 'none', now(),
           '{"root_url":"https://example.com/"}'::jsonb
      from generate_series(1, ${domains}::integer) i`;
}

/** Times requests to both processes meanwhile; returns the 99th percentiles in milliseconds. */
async function probeDuring(
  work: () => Promise<void>,
): Promise<{ apiMs: number; redirectorMs: number }> {
  const probes = [`${api_url}/healthz`, `${short_url}/`].map(startProbe);
  await work();
  const [apiMs = Number.NaN, redirectorMs = Number.NaN] = await Promise.all(
    probes.map((probe) => probe.stop()),
  );
  return { apiMs, redirectorMs };
}

/**
 * Requests a page again and again; `stop` returns the 99th percentile of the times, in
 * milliseconds.
 */
function startProbe(url: string): { stop(): Promise<number> } {
  let stopped = false;
  const times: number[] = [];
  const running = (async () => {
    while (!stopped) {
      const startedAt = performance.now();
      await fetch(url, { redirect: "manual" }).then((response) => response.arrayBuffer());
      times.push(performance.now() - startedAt);
      await Bun.sleep(PROBE_MS);
    }
  })();
  return {
    async stop() {
      stopped = true;
      await running;
      return quantile(times, 0.99);
    },
  };
}
