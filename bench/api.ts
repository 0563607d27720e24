/**
 * `bun run bench:api`: the cost of keys, scopes and limits. Authenticated `GET /v1/links/{id}` on
 * one API process against the same app with only the query, alternating within one run. With one
 * key, whose authorizations are coalesced, and with 1,000 keys of 1,000 accounts. Then lists, a
 * search, and single and bulk creation with the CPU time of API, PostgreSQL and NATS together.
 */
import { version as elysiaVersion } from "elysia/package.json";
import postgres from "postgres";

import { generateKey } from "../api/auth/api-key.ts";
import { decodeId, encodeId, newUuid } from "../shared/ids.ts";
import { createAccount, UNLIMITED } from "../test/harness/admin.ts";
import { call, linkSchema } from "../test/harness/api.ts";
import { seedLinks } from "../test/harness/links-seed.ts";
import { atLeast, atMost, median, publish, round } from "../test/harness/report.ts";
import { startStack } from "../test/harness/stack.ts";
import { type Client, measure, type Measured } from "./load.ts";

const ROUNDS = 3;
const SECONDS = 8;
const CONNECTIONS = 50;
const FIXED_RATE = 500;
/** Keys of as many accounts. */
const KEYS = 1_000;
/** Links of one bulk request, and of the account that is listed. */
const BULK = 100;
const SEEDED = 20_000;
const LIST = "/v1/links?limit=20&starting_after=";

await using stack = await startStack({ empty: true });
const { api_url, database_url, pids } = stack.info();
const sql = postgres(database_url, { max: 1, onnotice: () => undefined });
const quotas = { links_per_day: UNLIMITED.day };
const { id: account, key } = await createAccount(stack, "enterprise", { ...UNLIMITED, quotas });
const { body } = await call(`${api_url}/v1/links`, {
  key,
  body: { url: "https://example.com/bench" },
});
const path = `/v1/links/${linkSchema.parse(body).id}`;
const headers = { authorization: `Bearer ${key}` };
const bare = await startBare({ DATABASE_URL: database_url, ACCOUNT: account });
const apiPid = pids.api ?? 0;

const load = { connections: CONNECTIONS, seconds: SECONDS, headers };
const runs: Record<"api" | "bare", Measured[]> = { api: [], bare: [] };
await measure(apiPid, { ...load, seconds: 2, url: `${api_url}${path}` });
await measure(bare.pid, { ...load, seconds: 2, url: `${bare.url}${path}` });
for (let i = 0; i < ROUNDS; i++) {
  runs.api.push(await measure(apiPid, { ...load, url: `${api_url}${path}` }));
  runs.bare.push(await measure(bare.pid, { ...load, url: `${bare.url}${path}` }));
}
const fixed = await measure(apiPid, { ...load, rate: FIXED_RATE, url: `${api_url}${path}` });
const clients = await createClients(KEYS);
const many: Measured[] = [];
for (let i = 0; i < ROUNDS; i++) {
  many.push(await measure(apiPid, { ...load, headers: {}, clients, url: api_url }));
  runs.bare.push(await measure(bare.pid, { ...load, url: `${bare.url}${path}` }));
}
process.kill(bare.pid);
await seedLinks(sql, decodeId("acct", account) ?? "", SEEDED);
const all = [pids.api, pids.postgres, pids.nats].filter((pid) => pid !== null);
const reads = { ...load, seconds: 5 };
const list = await measure(all, { ...reads, url: `${api_url}${LIST}` });
const search = await measure(all, { ...reads, url: `${api_url}${LIST}&search=summer%20sale` });
const created = { url: "https://example.com/bench/created", title: "Created", tags: ["bench"] };
const single = await measure(all, { ...load, url: `${api_url}/v1/links`, body: created });
const links = Array.from({ length: BULK }, () => created);
const bulk = await measure(all, {
  ...load,
  connections: 2,
  url: `${api_url}/v1/links/bulk`,
  body: { links },
});
await sql.end();

const summary = (name: string, measured: readonly Measured[]) => ({
  server: name,
  "requests/s": round(median(measured.map((run) => run.requestsPerSecond))),
  "CPU µs/request": round(median(measured.map((run) => run.cpuMicrosPerRequest))),
  "p50 ms": round(median(measured.map((run) => run.p50Ms))),
  "p99 ms": round(median(measured.map((run) => run.p99Ms))),
});
const api = summary("api: key, scope, limits, link", runs.api);
const bareSummary = summary("bare: link", runs.bare);
const ratio = round(api["requests/s"] / bareSummary["requests/s"]);
const manySummary = summary(`api: ${KEYS} keys of ${KEYS} accounts, a link each`, many);
const manyRatio = round(manySummary["requests/s"] / bareSummary["requests/s"]);
const singleMs = round(single.cpuMicrosPerRequest / 1_000);
const bulkMs = round(bulk.cpuMicrosPerRequest / BULK / 1_000);

publish({
  name: "api",
  versions: { elysia: elysiaVersion },
  rows: [
    api,
    bareSummary,
    summary(`api at ${FIXED_RATE} requests/s`, [fixed]),
    manySummary,
    summary("list, by cursor (CPU of all processes)", [list]),
    summary("search, by cursor (CPU of all processes)", [search]),
    summary("create one link (CPU of all processes)", [single]),
    summary(`create ${BULK} links (CPU of all processes)`, [bulk]),
  ],
  targets: [
    atLeast("requests/s of api : bare", ratio, 0.5),
    atLeast(`requests/s with ${KEYS} keys : bare`, manyRatio, 0.4),
    atMost("CPU ms of one creation", singleMs, 2.5),
    atMost("CPU ms of a link in bulk", bulkMs, 0.5),
  ],
});

/** Creates accounts with a key and a link each; returns the requests for the links. */
async function createClients(count: number): Promise<Client[]> {
  const clients: Client[] = [];
  for (let i = 0; i < count; i++) {
    const [id, link] = [newUuid(), newUuid()];
    const { key, lookup, prefix, secretHash } = generateKey("live");
    await sql`
      insert into accounts (id, name, plan, limits) values (${id}, 'bench', 'enterprise', ${sql.json(UNLIMITED)})`;
    await sql`
      insert into api_keys (id, account_id, name, mode, lookup, prefix, secret_hash, scopes)
      values (${newUuid()}, ${id}, 'bench', 'live', ${lookup}, ${prefix}, ${secretHash}, ${["links:read"]})`;
    await sql`
      insert into links (id, account_id, mode, alias, original_url, target_url, version, created_at, updated_at)
      values (${link}, ${id}, 'live', ${`bench-${i}`}, 'https://example.com/', 'https://example.com/',
              nextval('link_version'), now(), now())`;
    await sql`insert into link_counters (link_id, account_id, mode) values (${link}, ${id}, 'live')`;
    clients.push({
      path: `/v1/links/${encodeId("link", link)}`,
      headers: { authorization: `Bearer ${key}` },
    });
  }
  return clients;
}

async function startBare(env: Record<string, string>): Promise<{ url: string; pid: number }> {
  const child = Bun.spawn([process.execPath, `${import.meta.dir}/api-bare.ts`], {
    env: { ...process.env, ...env },
    stdout: "pipe",
  });
  for await (const chunk of child.stdout) {
    const port = /listening on (\d+)/.exec(new TextDecoder().decode(chunk))?.[1];
    if (port !== undefined) return { url: `http://127.0.0.1:${port}`, pid: child.pid };
  }
  throw new Error("The bare server did not start.");
}
