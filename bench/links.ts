/**
 * `bun run bench:links [LARGE] [SMALL]`: finding links in an account with a million of them, against
 * one with ten thousand, by HTTP on one API process. Pages of 100.
 */
import postgres from "postgres";

import { decodeId } from "../shared/ids.ts";
import { createAccount } from "../test/harness/admin.ts";
import { startStack } from "../test/harness/stack.ts";
import { seedLinks } from "./links-seed.ts";
import { publish, round } from "./report.ts";

const [large = 1_000_000, small = 10_000] = process.argv.slice(2).map(Number);
const REQUESTS = 400;
const LANES = 2;
const TARGET_MS = 50;

const PLENTY = { minute: 1_000_000_000, day: 1_000_000_000, burst: 1_000_000_000 };

/** What is asked for; `{last}` is the last page, `{deep}` one in the middle. */
const QUESTIONS: [string, string][] = [
  ["list", "page=1"],
  ["list, page 50", "page=50"],
  ["list, in the middle", "page={deep}"],
  ["list, last page", "page={last}"],
  ["sort by clicks", "sort=clicks"],
  ["sort by clicks, ascending", "sort=clicks&order=asc"],
  ["sort by clicks, in the middle", "sort=clicks&page={deep}"],
  ["search: one link", "search=ref%3D4242"],
  ["search: a host, 1 in 4,096", "search=shop-77.example"],
  ["search: the same, by clicks", "search=shop-77.example&sort=clicks"],
  ["search: a pair of words, 1 in 256", "search=summer%20sale"],
  ["search: two letters", "search=zz"],
  ["search: every link", "search=example.com"],
  ["tag, 1 in 16", "tag=summer"],
];

await using stack = await startStack();
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
for (const [name, query] of QUESTIONS) {
  const atLarge = await time(accounts.large, query);
  const atSmall = await time(accounts.small, query);
  const ratio = round(atLarge.p50 / atSmall.p50);
  rows.push({
    question: name,
    [`p50 ms, ${large}`]: atLarge.p50,
    [`p99 ms, ${large}`]: atLarge.p99,
    [`p50 ms, ${small}`]: atSmall.p50,
    [`p99 ms, ${small}`]: atSmall.p99,
    "p50 ratio": ratio,
  });
  targets.push({
    name: `${name}: p99 at ${large}`,
    value: atLarge.p99,
    target: `< ${TARGET_MS} ms`,
    met: atLarge.p99 < TARGET_MS,
  });
}
publish({
  name: "links",
  versions: { bun: Bun.version, postgresql: server.server_version },
  rows,
  targets,
});

async function fill(name: string, count: number): Promise<{ key: string; pages: number }> {
  const { id, key } = await createAccount(stack, "enterprise", PLENTY);
  const before = performance.now();
  await seedLinks(sql, decodeId("acct", id) ?? "", count);
  console.log(`${name}: ${count} links in ${round((performance.now() - before) / 1_000)} s`);
  return { key, pages: Math.ceil(count / 100) };
}

/** Milliseconds of answers to a question, asked over a few connections; the first ones warm up. */
async function time({ key, pages }: { key: string; pages: number }, query: string) {
  const page = query
    .replace("{deep}", String(Math.ceil(pages / 2)))
    .replace("{last}", String(pages));
  const url = `${api_url}/v1/links?limit=100&${page}`;
  const headers = { authorization: `Bearer ${key}` };
  const times: number[] = [];
  const deadline = performance.now() + 20_000;
  const ask = async () => {
    const before = performance.now();
    const answer = await fetch(url, { headers });
    await answer.arrayBuffer();
    if (answer.status !== 200) throw new Error(`${query}: ${answer.status}`);
    return performance.now() - before;
  };
  for (let i = 0; i < 10; i++) await ask();
  const lane = async () => {
    while (times.length < REQUESTS && performance.now() < deadline) times.push(await ask());
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number) => round(sorted[Math.floor(sorted.length * share)] ?? Number.NaN);
  return { p50: at(0.5), p99: at(0.99) };
}
