/**
 * `bun run bench:links-resync [LINKS] [DOMAINS]`: how long `shorthop links resync` takes with so
 * many links (a million) and so many domains that have settings (100,000): into an empty stream and
 * into one that has them, until they are in NATS and until a redirector has them; and what requests
 * to the API and to the redirector notice of it.
 */
import postgres from "postgres";

import { resyncLinks } from "../api/feed/resync.ts";
import { openReader } from "../redirector/links/store-reader.ts";
import { decodeId } from "../shared/ids.ts";
import { createAccount } from "../test/harness/admin.ts";
import { seedLinks } from "../test/harness/links-seed.ts";
import { readCpu } from "../test/harness/process-usage.ts";
import { publish, round, type Target } from "../test/harness/report.ts";
import { startStack } from "../test/harness/stack.ts";

const [links = 1_000_000, domains = 100_000] = process.argv.slice(2).map(Number);

/** How long a redirector may take to have all links, before the benchmark gives up. */
const STORED_WITHIN_MS = 600_000;

/** Between two requests that are timed. */
const PROBE_MS = 20;

await using stack = await startStack({ empty: true });
const { api_url, short_url, database_url, pids } = stack.info();
const sql = postgres(database_url, { max: 2, onnotice: () => undefined });
const account = await createAccount(stack, "enterprise");
const accountId = decodeId("acct", account.id);
if (accountId === undefined) throw new Error("The account has no id.");
await seedLinks(sql, accountId, links);
await seedDomains();

const rows: Record<string, string | number>[] = [];
const targets: Target[] = [];
for (const state of ["empty", "full"]) await measure(state);
await sql.end();
publish({ name: "links-resync", versions: { bun: Bun.version }, rows, targets });

async function measure(state: string): Promise<void> {
  const probes = [`${api_url}/healthz`, `${short_url}/`].map(startProbe);
  const { api } = pids;
  if (api === null) throw new Error("The API does not run.");
  const cpuBefore = readCpu(api);
  const startedAt = performance.now();
  await resyncLinks(sql, () => undefined);
  const publishedMs = performance.now() - startedAt;
  const cpu = (readCpu(api) - cpuBefore) / 1e6;
  const [apiMs, redirectorMs] = await Promise.all(probes.map((probe) => probe.stop()));
  await waitUntilStored();
  const storedMs = performance.now() - startedAt;
  rows.push({
    stream: state,
    links,
    domains,
    "published s": round(publishedMs / 1_000),
    "published/s": Math.round(((links + domains) / publishedMs) * 1_000),
    "API's CPU s": round(cpu),
    "on the host s": round(storedMs / 1_000),
    "API p99 ms": round(apiMs ?? Number.NaN),
    "redirector p99 ms": round(redirectorMs ?? Number.NaN),
  });
  targets.push({
    name: `${state} stream: s until published`,
    value: round(publishedMs / 1_000),
    target: "<= 30",
    met: publishedMs <= 30_000,
  });
}

/** Verified domains with settings, each of which has a notice. */
async function seedDomains(): Promise<void> {
  await sql`
    insert into domains (id, account_id, mode, host, verification_value, verified_at, settings, version)
    select gen_random_uuid(), ${accountId ?? null}, 'live', 'd' || i || '.example.com', 'none', now(),
           '{"root_url":"https://example.com/"}'::jsonb, next_link_version()
      from generate_series(1, ${domains}::integer) i`;
}

/**
 * Waits until the redirector has all of the stream, and has removed what is older than the epoch.
 */
async function waitUntilStored(): Promise<void> {
  const [feed] = await sql<[{ epoch: number }]>`select epoch::float8 as epoch from link_feed`;
  const reader = openReader(`${stack.dataDir}/links`);
  const deadline = performance.now() + STORED_WITHIN_MS;
  for (;;) {
    const { complete, epoch, pending } = reader.feed();
    if (complete && pending === 0 && epoch >= feed.epoch) break;
    if (performance.now() > deadline) throw new Error("The redirector does not have all links.");
    await Bun.sleep(100);
  }
  reader.close();
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
      times.sort((a, b) => a - b);
      return times[Math.floor((times.length - 1) * 0.99)] ?? Number.NaN;
    },
  };
}
