/**
 * `bun run bench:takeover [MILLIONS]`: how long a worker takes to take over beside so many million clicks of the day, 150 unless
 * given, when the last insert of the one before is in `clicks` and not in the rollups, and when it never arrived. Also how long
 * the consistency check compares that day.
 */
import { ROLLUP_TABLES } from "../shared/clicks/rollup-tables.ts";
import { findDifferences, queryRows } from "../shared/clicks/rollups.ts";
import { DAY_SECONDS } from "../shared/durations.ts";
import { newUuid } from "../shared/ids.ts";
import { UNKNOWN_LOCATION } from "../shared/visitors/geo.ts";
import { parseAgent } from "../shared/visitors/user-agent.ts";
import { encodeSegment } from "../test/harness/encode-segment.ts";
import { startStack } from "../test/harness/stack.ts";
import { createBatchLog } from "../worker/batches/clickhouse-log.ts";
import { findStored, readHistory, readRows } from "../worker/batches/clicks-table.ts";
import type { BatchSegment, OwnerDeps } from "../worker/batches/deps.ts";
import { takeOver } from "../worker/batches/owner.ts";
import { isRejected, openClickHouse } from "../worker/clickhouse.ts";
import { insertRows } from "../worker/consumer/row-insert.ts";
import { createEnricher } from "../worker/enrich/rows.ts";
import { createVisitorHash } from "../worker/enrich/visitor.ts";
import { insertClicks, LINKS, RANK_ID_PREFIX } from "./analytics/generated-clicks.ts";
import { publish, round } from "./report.ts";

const [MILLIONS = 150] = process.argv.slice(2).map(Number);
/** A whole batch (worker/batches/collector.ts). */
const SEGMENTS = 30;
const SEGMENT_CLICKS = 2_000;
const SECONDS_MAX = 10;
const STEPS = 24;
const ACCOUNT = newUuid();

/** The time of the clicks: today, so far. */
const now = Math.floor(Date.now() / 1_000);
const midnight = now - (now % DAY_SECONDS);

await using stack = await startStack({ empty: true });
const { clickhouse_url, pids } = stack.info();
// Only the workers of this benchmark write.
process.kill(Number(pids.worker), "SIGSTOP");
const client = openClickHouse(clickhouse_url, 600_000);
const run = (query: string) => client.command({ query });

const views = await queryRows<{ name: string; query: string }>(
  client,
  `SELECT name, create_table_query AS query FROM system.tables
    WHERE database = currentDatabase()
      AND match(create_table_query, '^CREATE MATERIALIZED VIEW.*FROM (\\\\w+\\\\.)?clicks\\\\b')`,
);
await fill();

const half = await measure(async (segments) => {
  // The rollups get nothing of this insert.
  for (const { name } of views) await run(`DROP VIEW ${name} SYNC`);
  await (await takeOver(depsWith([]))).store(segments);
  for (const { query } of views) await run(query);
});
const lost = await measure(async (segments) => {
  const owner = await takeOver({
    ...depsWith([]),
    insert: () => Promise.reject(new Error("It never arrived.")),
  });
  await owner.store(segments).catch(() => undefined);
});
console.log(`taken over in ${round(half)} and ${round(lost)} s`);
await expectEqualSums();
const start = performance.now();
const differences = await findDifferences(client, {
  from: midnight,
  to: midnight + DAY_SECONDS,
});
const compared = (performance.now() - start) / 1_000;
if (differences.length > 0) throw new Error(`${differences.length} buckets differ.`);
process.kill(Number(pids.worker), "SIGCONT");
await client.close();

const row = (what: string, seconds: number) => ({
  "clicks of the day": MILLIONS * 1e6,
  what,
  seconds: round(seconds),
});
const target = (name: string, seconds: number) => ({
  name,
  value: round(seconds),
  target: `<= ${SECONDS_MAX}`,
  met: seconds <= SECONDS_MAX,
});
publish({
  name: "takeover",
  versions: { bun: Bun.version },
  rows: [
    row("takeover, the last insert is in no rollup", half),
    row("takeover, the last insert never arrived", lost),
    row("consistency check of the day, in all rollups", compared),
  ],
  targets: [
    target("takeover after half an insert, s", half),
    target("takeover after an insert that never arrived, s", lost),
  ],
});

/** Leaves a batch in doubt, and measures the seconds of the next worker's takeover, which makes other rows of it. */
async function measure(leave: (segments: BatchSegment[]) => Promise<void>): Promise<number> {
  const made = await makeSegments();
  await leave(await toRows(made, "Old Town"));
  const atHand = await toRows(made, "New Town");
  const begin = performance.now();
  const owner = await takeOver(depsWith(atHand));
  const seconds = (performance.now() - begin) / 1_000;
  if (!atHand.every((segment) => owner.has(segment)) || owner.size().open > 0)
    throw new Error("The batch is not settled.");
  await owner.release();
  return seconds;
}

function depsWith(inStream: BatchSegment[]): OwnerDeps {
  return {
    log: createBatchLog(client),
    insert: (token, rows) => insertRows(client, token, rows),
    isRejected,
    findStored: (segments, span) => findStored(client, segments, span),
    readRows: (segments, span) => readRows(client, segments, span),
    readHistory: () => readHistory(client),
    findInStream: async (segments) => inStream.filter((segment) => segments.has(segment)),
    retry: (operation) => operation(),
    onSettled: () => undefined,
  };
}

async function makeSegments(): Promise<Buffer[]> {
  const journalId = newUuid();
  return Array.from({ length: SEGMENTS }, (_, segment) =>
    encodeSegment(
      { journalId, segment },
      Array.from({ length: SEGMENT_CLICKS }, (__, i) => ({
        time: Date.now() - i,
        linkId: linkOf(i % 20 === 0 ? 1 : Math.floor(LINKS ** Math.random())),
        accountId: ACCOUNT,
        mode: "live" as const,
        prefetch: false,
        privacy: false,
        address: `198.51.100.${i % 200}`,
        host: "sho.rt",
        userAgent: "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
        referrer: "",
        language: "de",
        query: "",
      })),
    ),
  );
}

async function toRows(segments: readonly Buffer[], city: string): Promise<BatchSegment[]> {
  const location = { ...UNKNOWN_LOCATION, city };
  const enrich = createEnricher({
    geo: { locate: () => location },
    parseAgent,
    visitorHash: createVisitorHash("a secret of this benchmark"),
    anonymousVisitors: false,
    ownHosts: new Set(),
  });
  const rows: BatchSegment[] = [];
  for (const [i, bytes] of segments.entries()) {
    const enriched = await enrich(bytes);
    if (enriched === undefined) throw new Error("Not a segment.");
    rows.push({ ...enriched, sequence: i + 1, publishedAt: i + 1 });
  }
  return rows;
}

function linkOf(rank: number): string {
  return `${RANK_ID_PREFIX}${rank.toString(16).padStart(12, "0")}`;
}

/** Fills `clicks` without its views, and then the rollups, in steps: views would group each block by itself. */
async function fill(): Promise<void> {
  for (const { name } of views) await run(`DROP VIEW ${name} SYNC`);
  const seconds = Math.floor((now - midnight) / STEPS);
  for (let step = 0; step < STEPS; step++) {
    const from = midnight + step * seconds;
    const clicks = Math.floor((MILLIONS * 1e6) / STEPS);
    await run(insertClicks({ accountId: ACCOUNT, from, seconds, clicks, segment: step }));
    for (const { table, keys, measures, selectFromClicks } of ROLLUP_TABLES) {
      const columns = [...keys, ...measures].join(", ");
      const ofStep = `ts >= toDateTime64(${from}, 3, 'UTC') AND ts < toDateTime64(${from + seconds}, 3, 'UTC')`;
      await run(
        `INSERT INTO ${table} (${columns}) SELECT ${columns} FROM (${selectFromClicks(ofStep)}) SETTINGS insert_deduplicate = 0`,
      );
    }
    console.log(`${step + 1} of ${STEPS} parts of the day`);
  }
  for (const { query } of views) await run(query);
}

/** Every click is once in `clicks` and in a rollup. */
async function expectEqualSums(): Promise<void> {
  const expected = Math.floor((MILLIONS * 1e6) / STEPS) * STEPS + 2 * SEGMENTS * SEGMENT_CLICKS;
  const [sums] = await queryRows<Record<"clicks" | "rollup", string>>(
    client,
    "SELECT (SELECT count() FROM clicks) AS clicks, (SELECT sum(clicks) FROM clicks_1d) AS rollup",
  );
  if (Number(sums?.clicks) !== expected || Number(sums?.rollup) !== expected)
    throw new Error(`${expected} clicks, but ${JSON.stringify(sums)}`);
}
