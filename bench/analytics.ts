/**
 * `bun run bench:analytics [MILLIONS] [--data DIR]`: latency of each endpoint at a million clicks
 * and at a hundred million, on 100,000 links of which one has more than a tenth of the clicks.
 * Measures that link and the median one, and compares with the same query on raw clicks. With a
 * directory, the clicks are kept there for the next run.
 */
import { join } from "node:path";
import { parseArgs } from "node:util";

import { runQuery } from "../test/harness/admin.ts";
import { type Data, openData, tagLinks } from "../test/harness/analytics-data.ts";
import { call } from "../test/harness/api.ts";
import { atLeast, atMost, median, publish, quantile, round } from "../test/harness/report.ts";

const { values, positionals } = parseArgs({
  options: { data: { type: "string" } },
  allowPositionals: true,
});
const MILLIONS = Number(positionals[0] ?? 100);
const REQUESTS = 20;
/** Rows of an export that are read at most: a month of a hundred million clicks has more. */
const EXPORT_ROWS_MAX = 3_000_000;

const ENDPOINTS = ["", "/geo", "/geo?group_by=city", "/devices", "/referrers"];
const PERIODS = ["24h", "7d", "30d", "90d"];

/**
 * Questions that rollups of one dimension cannot answer, each with its target in ms: what the
 * hottest link's filter keeps (a twelfth, a third, two thirds of its clicks) and two dimensions;
 * any filter on the median link; a tag of 10,000 links.
 */
const QUESTIONS = [
  { name: "hot country=DE 90d", link: "hot", query: "?period=90d&country=DE", target: 300 },
  {
    name: "hot geo, country=DE 90d",
    link: "hot",
    query: "/geo?period=90d&country=DE",
    target: 300,
  },
  { name: "hot device=mobile 90d", link: "hot", query: "?period=90d&device=mobile", target: 900 },
  { name: "hot device=-mobile 90d", link: "hot", query: "?period=90d&device=-mobile", target: 900 },
  {
    name: "hot country,device 90d",
    link: "hot",
    query: "/breakdown?period=90d&by=country,device",
    target: 900,
  },
  { name: "median country=DE 90d", link: "median", query: "?period=90d&country=DE", target: 100 },
  {
    name: "median browser=-Chrome, os=iOS 90d",
    link: "median",
    query: "?period=90d&browser=-Chrome&os=iOS",
    target: 100,
  },
  { name: "account tag 30d", link: undefined, query: "?period=30d&tag=campaign", target: 900 },
  {
    name: "account geo, tag 30d",
    link: undefined,
    query: "/geo?period=30d&tag=campaign",
    target: 900,
  },
] as const;

type Measured = { p50: number; p99: number; rows: number; bytes: number };

const small = await withData(1, measureAll);
const { large, raw, exportRate } = await withData(MILLIONS, async (data) => ({
  large: await measureAll(data),
  raw: await measureRaw(data),
  exportRate: await measureExport(data),
}));

const rows = [...large].map(([query, { p50, p99, rows: read, bytes }]) => ({
  query,
  "p50 ms": round(p50),
  "p99 ms": round(p99),
  "rows read": Math.round(read),
  "KiB read": Math.round(bytes / 1024),
  "p50 : at 1M": round(p50 / (small.get(query)?.p50 ?? Number.NaN)),
}));
const isQuestion = (label: string) => QUESTIONS.some(({ name }) => name === label);
const worst = (link: string, period: string) =>
  Math.max(
    ...[...large]
      .filter(([query]) => !isQuestion(query) && query.startsWith(link) && query.includes(period))
      .map(([, { p99 }]) => p99),
  );
const ratios = [...large]
  .filter(([query]) => !isQuestion(query) && query.startsWith("median"))
  .map(([query, { p50 }]) => p50 / (small.get(query)?.p50 ?? Number.NaN));
publish({
  name: "analytics",

  rows: [...rows, ...raw],
  targets: [
    atMost("p99 of the median link, worst endpoint and period, ms", worst("median", ""), 60),
    atMost("p99 of the hot link over 90d, worst endpoint, ms", worst("hot", "90d"), 150),
    atMost(`p50 of the median link, ${MILLIONS}M : 1M, worst`, Math.max(...ratios), 2),
    atMost("p99 of the account over 30d, worst endpoint, ms", worst("account", "30d"), 300),
    atLeast("export of a month, clicks/s", Math.round(exportRate), 200_000),
    ...QUESTIONS.map((question) =>
      atMost(
        `p99 of ${question.name}, ms`,
        large.get(question.name)?.p99 ?? Number.NaN,
        question.target,
      ),
    ),
  ],
});

/** Runs a measurement on a stack with that many million clicks, and stops the stack. */
async function withData<T>(millions: number, run: (data: Data) => Promise<T>): Promise<T> {
  const dir = values.data === undefined ? undefined : join(values.data, `${millions}m`);
  const data = await openData(millions * 1e6, dir);
  await using _ = data.stack;
  return await run(data);
}

async function measureAll(data: Data): Promise<Map<string, Measured>> {
  const { hot, median: middle } = data.contents;
  const { api_url } = data.stack.info();
  const measured = new Map<string, Measured>();
  for (const [name, { id }] of Object.entries({ hot, median: middle })) {
    for (const endpoint of ENDPOINTS) {
      for (const period of PERIODS) {
        const url = new URL(`${api_url}/v1/analytics/${id}${endpoint}`);
        url.searchParams.set("period", period);
        const label = `${name} ${endpoint === "" ? "summary" : endpoint.slice(1)} ${period}`;
        measured.set(label, await measure(data, url.href));
      }
    }
  }
  // All links have clicks: more links than most accounts ever have.
  for (const part of ["", "/geo", "/devices", "/referrers"]) {
    const url = `${api_url}/v1/analytics${part}?period=30d`;
    const label = `account ${part === "" ? "summary" : part.slice(1)} 30d`;
    measured.set(label, await measure(data, url, 5));
  }
  const links = { hot, median: middle };
  await tagLinks(data);
  for (const { name, link, query } of QUESTIONS) {
    const path = link === undefined ? "" : `/${links[link].id}`;
    measured.set(name, await measure(data, `${api_url}/v1/analytics${path}${query}`));
  }
  return measured;
}

async function measure(data: Data, url: string, requests = REQUESTS): Promise<Measured> {
  const { key } = data.contents.account;
  await call(url, { key });
  const before = await readTotals(data);
  const times: number[] = [];
  for (let i = 0; i < requests; i++) {
    const start = performance.now();
    const { status } = await call(url, { key });
    times.push(performance.now() - start);
    if (status !== 200) throw new Error(`${url}: ${status}`);
  }
  const after = await readTotals(data);
  return {
    p50: median(times),
    p99: quantile(times, 0.99),
    rows: (after.rows - before.rows) / requests,
    bytes: (after.bytes - before.bytes) / requests,
  };
}

/** Rows and bytes that ClickHouse has read since its start, for any reason. */
async function readTotals(data: Data): Promise<{ rows: number; bytes: number }> {
  const totals = await runQuery(
    data.stack,
    `SELECT sumIf(value, event = 'SelectedRows'), sumIf(value, event = 'SelectedBytes') FROM system.events`,
  );
  const [rowsRead, bytesRead] = totals.split("\t");
  return { rows: Number(rowsRead), bytes: Number(bytesRead) };
}

/** Measures the same queries without rollups. */
async function measureRaw(data: Data): Promise<Record<string, string | number>[]> {
  const since = `link_id = '${data.contents.hot.uuid}' AND ts >= now() - INTERVAL 90 DAY AND class = 'human'`;
  const queries = {
    "hot summary 90d, raw clicks": `SELECT toStartOfDay(ts) AS day, count(), uniqExact(visitor) FROM clicks WHERE ${since} GROUP BY day`,
    "hot geo 90d, raw clicks": `SELECT country, count() FROM clicks WHERE ${since} GROUP BY country`,
  };
  const measured = [];
  for (const [query, statement] of Object.entries(queries)) {
    const times: number[] = [];
    for (let i = 0; i < 5; i++) {
      const start = performance.now();
      await runQuery(data.stack, statement);
      times.push(performance.now() - start);
    }
    measured.push({ query, "p50 ms": round(median(times)) });
  }
  return measured;
}

/** Reads an export of the account's last month as it comes. Returns clicks per second. */
async function measureExport({ stack, contents }: Data): Promise<number> {
  const start = performance.now();
  const response = await fetch(`${stack.info().api_url}/v1/clicks/export?period=30d`, {
    headers: { authorization: `Bearer ${contents.account.key}` },
  });
  if (!response.ok || response.body === null) throw new Error(`Export: ${response.status}`);
  let clicks = 0;
  for await (const bytes of response.body) {
    for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) clicks++;
    if (clicks >= EXPORT_ROWS_MAX) break;
  }
  return clicks / ((performance.now() - start) / 1_000);
}
