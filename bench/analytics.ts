/**
 * `bun run bench:analytics [MILLIONS]`: latency of each endpoint at a million clicks and at a hundred million, on
 * 100,000 links of which one has more than a tenth of the clicks. Measures that link and the median one, and
 * compares with the same query on raw clicks. Clicks are generated inside ClickHouse.
 */
import { setPriority } from "node:os";

import postgres from "postgres";

import { decodeId } from "../shared/ids.ts";
import { createAccount } from "../test/harness/admin.ts";
import { call, linkSchema } from "../test/harness/api.ts";
import { startStack } from "../test/harness/stack.ts";
import { median, publish, round, type Target } from "./report.ts";

const [MILLIONS = 100] = process.argv.slice(2).map(Number);
const LINKS = 100_000;
const MEDIAN_RANK = LINKS / 2;
const DAYS = 90;
const REQUESTS = 20;
const DAY_MS = 86_400_000;
const MERGED_MS = 180_000;

const UNLIMITED = {
  minute: 1_000_000,
  burst: 1_000_000,
  day: 10_000_000,
  endpoints: { "GET /v1/analytics/*": 1_000_000 },
};

await using stack = await startStack();
const info = stack.info();
const account = await createAccount(stack, "enterprise", UNLIMITED);
const [hot, middle] = [await createLink("hot", 1e7), await createLink("median", 0)];

const ENDPOINTS = ["", "/geo", "/geo?group_by=city", "/devices", "/referrers"];
const PERIODS = ["24h", "7d", "30d", "90d"];

type Measured = { p50: number; p99: number; rows: number; bytes: number };

const stages: { clicks: number; measured: Map<string, Measured> }[] = [];
let seeded = 0;
for (const millions of [1, MILLIONS]) {
  await seed(millions * 1e6 - seeded);
  seeded = millions * 1e6;
  stages.push({ clicks: seeded, measured: await measureAll() });
}
const [small, large] = stages;
if (small === undefined || large === undefined) throw new Error("Nothing was measured.");

const rows = [...large.measured].map(([query, { p50, p99, rows: read, bytes }]) => ({
  query,
  "p50 ms": round(p50),
  "p99 ms": round(p99),
  "rows read": Math.round(read),
  "KiB read": Math.round(bytes / 1024),
  "p50 : at 1M": round(p50 / (small.measured.get(query)?.p50 ?? Number.NaN)),
}));
const raw = await measureRaw();
const worst = (link: string, period: string) =>
  Math.max(
    ...[...large.measured]
      .filter(([query]) => query.startsWith(link) && query.includes(period))
      .map(([, { p99 }]) => p99),
  );
const ratios = [...large.measured]
  .filter(([query]) => query.startsWith("median"))
  .map(([query, { p50 }]) => p50 / (small.measured.get(query)?.p50 ?? Number.NaN));
const target = (name: string, value: number, max: number): Target => ({
  name,
  value: round(value),
  target: `<= ${max}`,
  met: value <= max,
});
publish({
  name: "analytics",
  versions: { bun: Bun.version },
  rows: [...rows, ...raw],
  targets: [
    target("p99 of the median link, worst endpoint and period, ms", worst("median", ""), 60),
    target("p99 of the hot link over 90d, worst endpoint, ms", worst("hot", "90d"), 150),
    target(`p50 of the median link, ${MILLIONS}M : 1M, worst`, Math.max(...ratios), 2),
  ],
});

/** Creates a link with the click count that the worker would have stored in PostgreSQL. */
async function createLink(name: string, clicks: number): Promise<{ id: string; uuid: string }> {
  const created = await call(`${info.api_url}/v1/links`, {
    key: account.key,
    body: { url: `https://example.com/${name}` },
  });
  const { id } = linkSchema.parse(created.body);
  const uuid = decodeId("link", id) ?? "";
  const sql = postgres(info.database_url, { max: 1 });
  await sql`update links set created_at = now() - interval '100 days' where id = ${uuid}`;
  await sql`update link_counters set clicks = ${clicks} where link_id = ${uuid}`;
  await sql.end();
  return { id, uuid };
}

async function runQuery(query: string): Promise<string> {
  const response = await fetch(info.clickhouse_url, { method: "POST", body: query });
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  return text.trim();
}

/** Inserts clicks of the last days, one day at a time; the views fill the rollups. */
async function seed(count: number): Promise<void> {
  if (info.pids.clickhouse !== null) setPriority(info.pids.clickhouse, 10);
  const perDay = Math.ceil(count / DAYS);
  const today = Math.floor(Date.now() / DAY_MS);
  for (let day = 0; day < DAYS; day++) {
    const start = new Date((today - day - 1) * DAY_MS).toISOString().slice(0, 10);
    await runQuery(`
      INSERT INTO clicks (ts, link_id, account_id, mode, class, visitor, continent, country, region,
                          region_name, city, browser, os, device, referrer, language, journal_id, segment, idx)
      SELECT toDateTime64('${start} 00:00:00', 3, 'UTC') + toIntervalMillisecond(intDiv(number * ${DAY_MS}, ${perDay})),
             multiIf(rank = 1, toUUID('${hot.uuid}'), rank = ${MEDIAN_RANK}, toUUID('${middle.uuid}'),
                     toUUID(concat('01900000-0000-7000-8000-', leftPad(lower(hex(rank)), 12, '0')))),
             toUUID('${decodeId("acct", account.id)}'), 'live',
             if(r1 % 10 = 0, 'bot', 'human'), sipHash64(rank, r1 % 5000000), 'EU',
             -- Each city is in one region, and each region in one country.
             ['DE','US','FR','GB','IN','BR','JP','ES','IT','PL','NL','SE'][1 + city % 40 % 12],
             concat('R', toString(city % 40)), concat('Region ', toString(city % 40)),
             concat('City ', toString(city)),
             ['Chrome','Safari','Firefox','Edge','Samsung Internet'][1 + r2 % 5],
             ['Windows','iOS','Android','macOS','Linux'][1 + r1 % 5],
             ['mobile','desktop','tablet'][1 + r1 % 3],
             concat('site-', toString(least(intDiv(r2, 7) % 300, r1 % 300)), '.example'), 'en',
             '01900000-0000-7000-8000-000000000002', ${day}, number % 60000
        FROM (SELECT number, rand(1) AS r1, rand(2) AS r2, least(r2 % 400, r1 % 400) AS city,
                     -- Zipf's law over all links, with an extra share for the first.
                     if(rand(3) % 20 = 0, 1, toUInt32(pow(${LINKS}, rand(4) / 4294967295))) AS rank
                FROM numbers(${perDay}))
      SETTINGS max_insert_threads = 2, max_block_size = 1000000, min_insert_block_size_rows = 1000000,
               insert_deduplicate = 0, deduplicate_blocks_in_dependent_materialized_views = 0`);
    if (day % 10 === 9) console.log(`${day + 1} of ${DAYS} days`);
  }
  const counts = await runQuery(
    `SELECT count(), countIf(link_id = '${hot.uuid}'), countIf(link_id = '${middle.uuid}') FROM clicks`,
  );
  console.log(`clicks: total, hot link, median link: ${counts.replaceAll("\t", ", ")}`);
  if (info.pids.clickhouse !== null) setPriority(info.pids.clickhouse, 0);
  // Ninety days were inserted within minutes: wait until the merges have caught up.
  const deadline = Date.now() + MERGED_MS;
  while ((await runQuery("SELECT count() FROM system.merges")) !== "0" && Date.now() < deadline)
    await Bun.sleep(1_000);
}

async function measureAll(): Promise<Map<string, Measured>> {
  const measured = new Map<string, Measured>();
  for (const [name, { id }] of Object.entries({ hot, median: middle })) {
    for (const endpoint of ENDPOINTS) {
      for (const period of PERIODS) {
        const url = new URL(`${info.api_url}/v1/analytics/${id}${endpoint}`);
        url.searchParams.set("period", period);
        const label = `${name} ${endpoint === "" ? "summary" : endpoint.slice(1)} ${period}`;
        measured.set(label, await measure(url.href));
      }
    }
  }
  // All links have clicks: more links than most accounts ever have.
  for (const part of ["", "/geo", "/devices", "/referrers"]) {
    const url = `${info.api_url}/v1/analytics${part}?period=30d`;
    measured.set(`account ${part === "" ? "summary" : part.slice(1)} 30d`, await measure(url, 5));
  }
  return measured;
}

async function measure(url: string, requests = REQUESTS): Promise<Measured> {
  await call(url, { key: account.key });
  const before = await readTotals();
  const times: number[] = [];
  for (let i = 0; i < requests; i++) {
    const start = performance.now();
    const { status } = await call(url, { key: account.key });
    times.push(performance.now() - start);
    if (status !== 200) throw new Error(`${url}: ${status}`);
  }
  const after = await readTotals();
  return {
    p50: median(times),
    p99: times.toSorted((a, b) => a - b).at(Math.floor(requests * 0.99)) ?? Number.NaN,
    rows: (after.rows - before.rows) / requests,
    bytes: (after.bytes - before.bytes) / requests,
  };
}

/** Rows and bytes that ClickHouse has read since its start, for any reason. */
async function readTotals(): Promise<{ rows: number; bytes: number }> {
  const [rowsRead, bytesRead] = (
    await runQuery(
      `SELECT sumIf(value, event = 'SelectedRows'), sumIf(value, event = 'SelectedBytes') FROM system.events`,
    )
  ).split("\t");
  return { rows: Number(rowsRead), bytes: Number(bytesRead) };
}

/** Measures the same queries without rollups. */
async function measureRaw(): Promise<Record<string, string | number>[]> {
  const since = `link_id = '${hot.uuid}' AND ts >= now() - INTERVAL 90 DAY AND class = 'human'`;
  const queries = {
    "hot summary 90d, raw clicks": `SELECT toStartOfDay(ts) AS day, count(), uniqExact(visitor) FROM clicks WHERE ${since} GROUP BY day`,
    "hot geo 90d, raw clicks": `SELECT country, count() FROM clicks WHERE ${since} GROUP BY country`,
  };
  const measured = [];
  for (const [query, statement] of Object.entries(queries)) {
    const times: number[] = [];
    for (let i = 0; i < 5; i++) {
      const start = performance.now();
      await runQuery(statement);
      times.push(performance.now() - start);
    }
    measured.push({ query, "p50 ms": round(median(times)) });
  }
  return measured;
}
