/**
 * `bun run bench:links [LARGE] [SMALL]`: listing and searching links in an account with a million
 * of them, against one with ten thousand, over HTTP on one API process, by page and by cursor.
 * Pages of 100.
 */
import postgres from "postgres";

import { decodeId } from "../shared/ids.ts";
import { createAccount } from "../test/harness/admin.ts";
import { seedLinks } from "../test/harness/links-seed.ts";
import { atMost, median, publish, quantile, round } from "../test/harness/report.ts";
import { startStack } from "../test/harness/stack.ts";

const [large = 1_000_000, small = 10_000] = process.argv.slice(2).map(Number);
const REQUESTS = 400;
const CONCURRENCY = 2;
const TARGET_MS = 50;

const UNLIMITED = { minute: 1_000_000_000, day: 1_000_000_000, burst: 1_000_000_000 };

/**
 * The measured queries; `{last}` is the last page, `{deep}` one in the middle. By cursor, a list is
 * measured from its start and from the middle, whose cursor the page in the middle gives.
 */
const QUERIES: [string, string][] = [
  ["list", "page=1"],
  ["list, page 50", "page=50"],
  ["list, in the middle", "page={deep}"],
  ["list, last page", "page={last}"],
  ["sort by clicks", "sort=clicks"],
  ["sort by clicks, ascending", "sort=clicks&order=asc"],
  ["sort by clicks, in the middle", "sort=clicks&page={deep}"],
  ["sort by last click", "sort=last_click_at"],
  ["sort by last click, in the middle", "sort=last_click_at&page={deep}"],
  ["search: one link", "search=ref%3D4242"],
  ["search: a host, 1 in 4,096", "search=shop-77.example"],
  ["search: the same, by clicks", "search=shop-77.example&sort=clicks"],
  ["search: a pair of words, 1 in 256", "search=summer%20sale"],
  ["search: two letters", "search=zz"],
  ["search: every link", "search=example.com"],
  ["tag, 1 in 16", "tag=summer"],
];

await using stack = await startStack({ empty: true });
const { api_url, database_url } = stack.info();
const sql = postgres(database_url, { max: 1, onnotice: () => undefined });
const accounts = {
  large: await fill("large", large),
  small: await fill("small", small),
};
const [server] = await sql<[{ server_version: string }]>`show server_version`;
await sql.end();

const rows = [];
const targets = [];
const byCursor = QUERIES.filter(([, query]) => !/page=(50|\{last\})/.test(query)).map(
  ([name, query]): [string, string] => [
    `${name}, by cursor`,
    query.includes("{deep}") ? query : `${query.replace("page=1", "")}&starting_after=`,
  ],
);
for (const [name, query] of [...QUERIES, ...byCursor]) {
  const atLarge = await time(accounts.large, query, name.endsWith("by cursor"));
  const atSmall = await time(accounts.small, query, name.endsWith("by cursor"));
  const ratio = round(atLarge.p50 / atSmall.p50);
  rows.push({
    query: name,
    [`p50 ms, ${large}`]: atLarge.p50,
    [`p99 ms, ${large}`]: atLarge.p99,
    [`p50 ms, ${small}`]: atSmall.p50,
    [`p99 ms, ${small}`]: atSmall.p99,
    "p50 ratio": ratio,
  });
  targets.push(atMost(`${name}: p99 at ${large}, ms`, atLarge.p99, TARGET_MS));
}
publish({
  name: "links",
  versions: { postgresql: server.server_version },
  rows,
  targets,
});

async function fill(name: string, count: number): Promise<{ key: string; pages: number }> {
  const { id, key } = await createAccount(stack, "enterprise", UNLIMITED);
  const before = performance.now();
  await seedLinks(sql, decodeId("acct", id) ?? "", count);
  console.log(`${name}: ${count} links in ${round((performance.now() - before) / 1_000)} s`);
  return { key, pages: Math.ceil(count / 100) };
}

/**
 * Response times of a query in milliseconds, sent over a few connections; the first requests warm
 * up.
 */
async function time(
  { key, pages }: { key: string; pages: number },
  query: string,
  isByCursor: boolean,
) {
  const page = query
    .replace("{deep}", String(Math.ceil(pages / 2)))
    .replace("{last}", String(pages));
  const headers = { authorization: `Bearer ${key}` };
  let url = `${api_url}/v1/links?limit=100&${page}`;
  if (isByCursor && query.includes("{deep}")) {
    const { next_cursor } = (await (await fetch(url, { headers })).json()) as {
      next_cursor: string;
    };
    url = url.replace(/page=\d+/, `starting_after=${next_cursor}`);
  }
  const times: number[] = [];
  // What an account's budget refuses is sent again when it may be.
  const sendTimed = async (): Promise<number> => {
    for (;;) {
      const before = performance.now();
      const response = await fetch(url, { headers });
      await response.arrayBuffer();
      const took = performance.now() - before;
      if (response.status === 200) return took;
      if (response.status !== 429) throw new Error(`${query}: ${response.status}`);
      await Bun.sleep(1_000 * Number(response.headers.get("retry-after")));
    }
  };
  for (let i = 0; i < 10; i++) await sendTimed();
  const deadline = performance.now() + 20_000;
  const lane = async () => {
    while (times.length < REQUESTS && performance.now() < deadline) times.push(await sendTimed());
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, lane));
  return { p50: round(median(times)), p99: round(quantile(times, 0.99)) };
}
