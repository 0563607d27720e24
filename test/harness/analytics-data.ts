/**
 * Stacks with millions of clicks, generated inside ClickHouse; kept on disk, they are measured
 * again without generating.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { setPriority } from "node:os";
import { join } from "node:path";

import { DAY_MS, DAY_SECONDS } from "../../shared/durations.ts";
import { decodeId } from "../../shared/ids.ts";
import { createAccount, runQuery, UNLIMITED, withPostgres } from "./admin.ts";
import { call, linkSchema } from "./api.ts";
import { ID_OF_RANK, insertClicks, LINKS, RANK_ID_PREFIX } from "./generated-clicks.ts";
import { type Stack, startStack } from "./stack.ts";

const MEDIAN_RANK = LINKS / 2;
const TAGGED_LINKS = 10_000;
const DAYS = 90;
const MERGED_MS = 600_000;

/** What a data directory contains, in its file `bench.json`. */
type Contents = {
  account: { id: string; key: string };
  /** The link with more than a tenth of the clicks, and the median one. */
  hot: BenchLink;
  median: BenchLink;
  /** Days since 1970 on which the generated clicks end, and how many days have been generated. */
  endDay: number;
  days: number;
};

type BenchLink = { id: string; uuid: string };

export type Data = { stack: Stack; contents: Contents };

/**
 * Starts a stack with that many clicks of the last 90 days. With a directory, what it contains is
 * reused and completed; clicks that end before yesterday are too old for the period of 24 hours.
 */
export async function openData(
  clicks: number,
  dir: string | undefined,
  options: Pick<Parameters<typeof startStack>[0] & object, "env" | "empty"> = { empty: true },
): Promise<Data> {
  if (dir !== undefined) mkdirSync(dir, { recursive: true });
  const stack = await startStack({
    ...options,
    ...(dir === undefined ? {} : { dataDir: join(dir, "data") }),
  });
  const path = join(dir ?? stack.dataDir, "bench.json");
  const contents: Contents = existsSync(path)
    ? JSON.parse(readFileSync(path, "utf8"))
    : await createContents(stack);
  const data = { stack, contents };
  const today = Math.floor(Date.now() / DAY_MS);
  if (contents.endDay < today - 1)
    throw new Error(`The clicks in ${dir} are too old: remove them.`);
  if (contents.days === DAYS) return data;
  const save = () => writeFileSync(path, JSON.stringify(contents));
  save();
  await generate(data, clicks, save);
  return data;
}

async function createContents(stack: Stack): Promise<Contents> {
  const account = await createAccount(stack, "enterprise", UNLIMITED);
  return {
    account,
    hot: await createLink(stack, account.key, "hot", 1e7),
    median: await createLink(stack, account.key, "median", 0),
    endDay: Math.floor(Date.now() / DAY_MS),
    days: 0,
  };
}

/** Creates a link with the click count that the worker would have stored in PostgreSQL. */
async function createLink(
  stack: Stack,
  key: string,
  name: string,
  clicks: number,
): Promise<BenchLink> {
  const body = { url: `https://example.com/${name}` };
  const created = await call(`${stack.info().api_url}/v1/links`, { key, body });
  const { id } = linkSchema.parse(created.body);
  const uuid = decodeId("link", id) ?? "";
  await withPostgres(stack, async (sql) => {
    await sql`update links set created_at = now() - interval '100 days' where id = ${uuid}`;
    await sql`update link_counters set clicks = ${clicks} where link_id = ${uuid}`;
  });
  return { id, uuid };
}

/**
 * Gives the tag `campaign` to the 10,000 links after the first, which have most of the other
 * clicks.
 */
export async function tagLinks({ stack, contents }: Data): Promise<void> {
  const accountId = decodeId("acct", contents.account.id) ?? "";
  await withPostgres(
    stack,
    (sql) => sql`
    insert into links (id, account_id, mode, alias, original_url, target_url, tags, version,
                       created_at, updated_at)
    select concat(${RANK_ID_PREFIX}::text, lpad(to_hex(rank), 12, '0'))::uuid, ${accountId}::uuid,
           'live', 'rank-' || rank, 'https://example.com/', 'https://example.com/', array['campaign'],
           nextval('link_version'), now() - interval '100 days', now()
      from generate_series(2, ${TAGGED_LINKS + 1}::integer) rank
        on conflict do nothing`,
  );
}

/**
 * Inserts clicks one day at a time; the views fill the rollups. Then waits until parts are merged.
 */
async function generate(data: Data, clicks: number, save: () => void): Promise<void> {
  const { contents, stack } = data;
  const { clickhouse } = stack.info().pids;
  if (clickhouse !== null) setPriority(clickhouse, 15);
  while (contents.days < DAYS) {
    await runQuery(stack, insertDay(contents, Math.ceil(clicks / DAYS)));
    contents.days++;
    save();
    if (contents.days % 10 === 0) console.log(`${contents.days} of ${DAYS} days`);
  }
  const { hot, median } = contents;
  const counts = await runQuery(
    stack,
    `SELECT count(), countIf(link_id = '${hot.uuid}'), countIf(link_id = '${median.uuid}') FROM clicks`,
  );
  console.log(`clicks: total, hot link, median link: ${counts.replaceAll("\t", ", ")}`);
  if (clickhouse !== null) setPriority(clickhouse, 0);
  // Ninety days were inserted within minutes: wait until the merges have caught up.
  const deadline = Date.now() + MERGED_MS;
  while (
    (await runQuery(stack, "SELECT count() FROM system.merges")) !== "0" &&
    Date.now() < deadline
  )
    await Bun.sleep(1_000);
}

function insertDay({ account, hot, median, endDay, days }: Contents, clicks: number): string {
  return insertClicks({
    accountId: decodeId("acct", account.id) ?? "",
    from: (endDay - days - 1) * DAY_SECONDS,
    seconds: DAY_SECONDS,
    clicks,
    segment: days,
    linkId: `multiIf(rank = 1, toUUID('${hot.uuid}'), rank = ${MEDIAN_RANK}, toUUID('${median.uuid}'), ${ID_OF_RANK})`,
  });
}
