/**
 * `bun run bench:takeover [MILLIONS]`: how long a worker takes to take over beside so many million
 * clicks of the day, 150 unless given, when the last insert of the one before is in `clicks` and
 * not in the rollups, and when it never arrived. Also how long the consistency check compares that
 * day, and an account between two inserts.
 */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import {
  type ClickHouse,
  compareAgain,
  COMPARISON_SECONDS_MAX,
  findDifferences,
  queryRows,
  STATEMENT_SECONDS_MAX,
} from "../shared/clicks/rollups.ts";
import { readFreeBytes } from "../shared/disk.ts";
import { DAY_SECONDS } from "../shared/durations.ts";
import { newUuid } from "../shared/ids.ts";
import { UNKNOWN_LOCATION } from "../shared/visitors/geo.ts";
import { LINKS, RANK_ID_PREFIX } from "../test/harness/generated-clicks.ts";
import { atMost, publish, round } from "../test/harness/report.ts";
import { encodeSegment, testClick } from "../test/harness/segments.ts";
import { removeDataDir, startStack } from "../test/harness/stack.ts";
import { BatchesTable } from "../worker/batches/batch-log.ts";
import { type BatchSegment, ClicksTable } from "../worker/batches/clicks-table.ts";
import { Owner } from "../worker/batches/owner.ts";
import type { SegmentIndex } from "../worker/batches/segment-index.ts";
import { connectClickHouse } from "../worker/clickhouse.ts";
import { Enricher } from "../worker/enrich/rows.ts";
import { Metrics } from "../worker/metrics.ts";
import { fillDay, HOURS } from "./takeover/day.ts";

const [MILLIONS = 150] = process.argv.slice(2).map(Number);
/** A whole batch (worker/consumer/collector.ts). */
const SEGMENTS = 30;
const SEGMENT_CLICKS = 2_000;
const SECONDS_MAX = 10;
const HOUR_CLICKS = Math.floor((MILLIONS * 1e6) / HOURS);
const ACCOUNT = newUuid();

/**
 * Bytes of a click on the disk with its rollups, and once more while parts are merged: more than
 * was ever measured.
 */
const CLICK_BYTES_MAX = 120;

/** Longest wait for the merges that follow the filling. */
const MERGES_MS_MAX = 300_000;

/** The day of the clicks: today, all of it. */
const now = Math.floor(Date.now() / 1_000);
const midnight = now - (now % DAY_SECONDS);

// On a disk: so many clicks do not fit into memory.
const dataDir = join(
  mkdtempSync(join(process.env["BENCH_DIR"] ?? tmpdir(), "shorthop-bench-")),
  "data",
);
await using cleanup = new AsyncDisposableStack();
cleanup.defer(() => removeDataDir(dataDir));
if (readFreeBytes(dirname(dataDir)) < MILLIONS * 1e6 * CLICK_BYTES_MAX)
  throw new Error(
    `${MILLIONS} million clicks may need ${round(MILLIONS * CLICK_BYTES_MAX * 1e-3)} GB: set BENCH_DIR.`,
  );
await using stack = await startStack({ empty: true, dataDir });
const { clickhouse_url, pids } = stack.info();
// Only the workers of this benchmark write.
process.kill(Number(pids.worker), "SIGSTOP");
using stopped = new DisposableStack();
stopped.defer(() => process.kill(Number(pids.worker), "SIGCONT"));
const client = connectClickHouse(clickhouse_url, 600_000);
const run = (query: string) => client.command({ query });

const views = await queryRows<{ name: string; query: string }>(
  client,
  `SELECT name, create_table_query AS query FROM system.tables
    WHERE database = currentDatabase()
      AND match(create_table_query, '^CREATE MATERIALIZED VIEW.*FROM (\\\\w+\\\\.)?clicks\\\\b')`,
);
const filled = await time(async () => {
  for (const { name } of views) await run(`DROP VIEW ${name} SYNC`);
  await fillDay(client, { accountId: ACCOUNT, midnight, hourClicks: HOUR_CLICKS });
  for (const { query } of views) await run(query);
});
console.log(`filled in ${round(filled)} s`);
await waitForMerges();

const half = await measure(async (segments) => {
  // The rollups get nothing of this insert.
  for (const { name } of views) await run(`DROP VIEW ${name} SYNC`);
  await (await takeOver([])).store(segments);
  for (const { query } of views) await run(query);
});
const lost = await measure(async (segments) => {
  class LostInserts extends ClicksTable {
    override async insert() {
      throw new Error("It never arrived.");
    }
  }
  const owner = await takeOver([], new LostInserts(client, new Metrics()));
  await owner.store(segments).catch(() => undefined);
});
console.log(`taken over in ${round(half)} and ${round(lost)} s`);
await expectEqualSums();
let slowest = 0;
/** Notes the longest query. */
const timed: ClickHouse = {
  async query(statement) {
    const begin = performance.now();
    const result = await client.query(statement);
    const json = await result.json();
    slowest = Math.max(slowest, (performance.now() - begin) / 1_000);
    // The rows of the same response, for whoever knows their columns.
    return { json: async <Row>() => json as Row[] };
  },
  command: (statement) => client.command(statement),
};
const compared = await time(async () => {
  const day = { from: midnight, to: midnight + DAY_SECONDS };
  const differences = await findDifferences(timed, day);
  if (differences.length > 0) throw new Error(`${differences.length} buckets differ.`);
});
const ofAccount = await time(async () => {
  const nothing = { missing: 0, surplus: 0, humans: 0, bots: 0 };
  const suspected = { subject: ACCOUNT, account: ACCOUNT, bucket: midnight, ...nothing };
  await compareAgain(client, [{ table: "clicks_1d_places", ...suspected }]);
});
await client.close();

const row = (what: string, seconds: number) => ({
  "clicks of the day": MILLIONS * 1e6,
  what,
  seconds: round(seconds),
});
publish({
  name: "takeover",

  rows: [
    row("takeover, the last insert is in no rollup", half),
    row("takeover, the last insert never arrived", lost),
    row("consistency check of the day, in all rollups", compared),
    row("its longest query", slowest),
    row("comparison of an account's places between two inserts", ofAccount),
    row("filling, which is no measurement", filled),
  ],
  targets: [
    atMost("takeover after half an insert, s", half, SECONDS_MAX),
    atMost("takeover after an insert that never arrived, s", lost, SECONDS_MAX),
    atMost("longest query of the consistency check, s", slowest, COMPARISON_SECONDS_MAX),
    atMost("comparison of an account between two inserts, s", ofAccount, STATEMENT_SECONDS_MAX),
  ],
});

/**
 * Leaves a batch in doubt, and measures the seconds of the next worker's takeover, which makes
 * other rows of it.
 */
async function measure(leave: (segments: BatchSegment[]) => Promise<void>): Promise<number> {
  const made = await makeSegments();
  await leave(await toRows(made, "Old Town"));
  const atHand = await toRows(made, "New Town");
  return await time(async () => {
    const owner = await takeOver(atHand);
    if (!atHand.every((segment) => owner.has(segment)) || owner.size.open > 0)
      throw new Error("The batch is not settled.");
    await owner.release();
  });
}

/** Seconds that the work takes. */
async function time(work: () => Promise<void>): Promise<number> {
  const begin = performance.now();
  await work();
  return (performance.now() - begin) / 1_000;
}

/** A worker takes over, with a stream that has these segments. */
function takeOver(inStream: BatchSegment[], store = new ClicksTable(client, new Metrics())) {
  const stream = {
    find: async (segments: SegmentIndex) => inStream.filter((segment) => segments.has(segment)),
  };
  return Owner.takeOver(new BatchesTable(client), store, stream, (operation) => operation());
}

async function makeSegments(): Promise<Buffer[]> {
  const journalId = newUuid();
  return Array.from({ length: SEGMENTS }, (_, segment) =>
    encodeSegment(
      { journalId, segment },
      Array.from({ length: SEGMENT_CLICKS }, (__, i) =>
        testClick({
          time: Date.now() - i,
          linkId: linkOf(i % 20 === 0 ? 1 : Math.floor(LINKS ** Math.random())),
          accountId: ACCOUNT,
          address: `198.51.100.${i % 200}`,
          userAgent: "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
          language: "de",
        }),
      ),
    ),
  );
}

async function toRows(segments: readonly Buffer[], city: string): Promise<BatchSegment[]> {
  const location = { ...UNKNOWN_LOCATION, city };
  const geo = { locate: () => location, databases: () => [] };
  const enricher = new Enricher(geo, "a secret", new Set());
  const rows: BatchSegment[] = [];
  for (const [i, bytes] of segments.entries()) {
    const enriched = await enricher.enrich(bytes);
    if (enriched === undefined) throw new Error("Not a segment.");
    rows.push({ ...enriched, sequence: i + 1, publishedAt: i + 1 });
  }
  return rows;
}

function linkOf(rank: number): string {
  return `${RANK_ID_PREFIX}${rank.toString(16).padStart(12, "0")}`;
}

/**
 * Waits until the parts of the filling are merged: a day's parts are not all made within minutes.
 */
async function waitForMerges(): Promise<void> {
  const seconds = await time(async () => {
    const end = performance.now() + MERGES_MS_MAX;
    for (;;) {
      const [row] = await queryRows<{ merges: number | string }>(
        client,
        "SELECT count() AS merges FROM system.merges",
      );
      if (Number(row?.merges) === 0 || performance.now() > end) return;
      await Bun.sleep(1_000);
    }
  });
  console.log(`merged for ${round(seconds)} s`);
}

/** Every click is once in `clicks` and in a rollup. */
async function expectEqualSums(): Promise<void> {
  const expected = HOUR_CLICKS * HOURS + 2 * SEGMENTS * SEGMENT_CLICKS;
  const [sums] = await queryRows<Record<"clicks" | "rollup", string>>(
    client,
    "SELECT (SELECT count() FROM clicks) AS clicks, (SELECT sum(clicks) FROM clicks_1d) AS rollup",
  );
  if (Number(sums?.clicks) !== expected || Number(sums?.rollup) !== expected)
    throw new Error(`${expected} clicks, but ${JSON.stringify(sums)}`);
}
