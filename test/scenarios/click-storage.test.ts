/**
 * Goal: an insert is in the raw clicks and in every rollup once, whatever its clicks contain and
 * however often it is made.
 */
import { afterAll, beforeEach, expect, test } from "bun:test";

import { ROLLUP_TABLES } from "../../shared/clicks/rollup-tables.ts";
import {
  compareAgain,
  type Difference,
  findDifferences,
  groupDifferences,
  queryRows,
  rebuildBuckets,
} from "../../shared/clicks/rollups.ts";
import type { Click } from "../../shared/contracts/click-record.ts";
import { formatSegmentId } from "../../shared/contracts/click-segment.ts";
import { readFreeBytes } from "../../shared/disk.ts";
import { newUuid } from "../../shared/ids.ts";
import { UNKNOWN_LOCATION } from "../../shared/visitors/geo.ts";
import { ClicksTable } from "../../worker/batches/clicks-table.ts";
import { connectClickHouse } from "../../worker/clickhouse.ts";
import { readRoom } from "../../worker/disk-room.ts";
import { Enricher, type SegmentRows } from "../../worker/enrich/rows.ts";
import { Metrics } from "../../worker/metrics.ts";
import { eventually } from "../harness/eventually.ts";
import { forFile } from "../harness/for-file.ts";
import { encodeSegment, testClick } from "../harness/segments.ts";
import { killService } from "../harness/services.ts";
import { startStack } from "../harness/stack.ts";

const DAY_SECONDS = 86_400;

/** Midnight three days ago: a whole day whose rollups can be compared. */
const DAY = (Math.floor(Date.now() / 1_000 / DAY_SECONDS) - 3) * DAY_SECONDS;

const CLICKS = 500;

const stack = await forFile(startStack());
let client = connectClickHouse(stack.info().clickhouse_url);
afterAll(() => client.close());
beforeEach(async () => {
  for (const table of ["clicks", ...ROLLUP_TABLES.map((rollup) => rollup.table)])
    await client.command({ query: `TRUNCATE TABLE ${table}` });
});

const geo = {
  locate: (address: string) => ({ ...UNKNOWN_LOCATION, city: address }),
  databases: () => [],
};
const enricher = new Enricher(geo, "a secret of this installation", new Set());

const LINKS = [newUuid(), newUuid(), newUuid()];
const ACCOUNT = newUuid();

/**
 * The rows of a segment with clicks of several links, over most of a day; `change` may replace some
 * of their fields.
 */
async function makeSegment(change: (i: number) => Partial<Click> = () => ({})) {
  const clicks = Array.from({ length: CLICKS }, (_, i) =>
    testClick({
      time: (DAY + i * 170) * 1_000 + i,
      linkId: LINKS[i % LINKS.length] ?? "",
      accountId: ACCOUNT,
      prefetch: i % 20 === 0,
      address: `192.0.2.${i % 50}`,
      userAgent: i % 10 === 0 ? "Twitterbot/1.0" : "curl/8",
      language: "de",
      ...change(i),
    }),
  );
  const rows = await enricher.enrich(encodeSegment({ journalId: newUuid(), segment: 7 }, clicks));
  if (rows === undefined) throw new Error("The segment has no rows.");
  return rows;
}

const insert = (rows: SegmentRows) =>
  new ClicksTable(client, new Metrics()).insert(formatSegmentId(rows), [rows.rows]);

/**
 * Everything that is stored: the number of raw clicks, and all rows of each rollup, with the number
 * of visitors.
 */
async function readStored(): Promise<{ clicks: number; rollups: unknown[] }> {
  const [row] = await queryRows<{ clicks: string }>(client, "SELECT count() AS clicks FROM clicks");
  const rollups: unknown[] = [];
  for (const { table, keys, measures } of ROLLUP_TABLES) {
    const visitors = measures.includes("visitors")
      ? ", uniqCombined64Merge(14)(visitors) AS visitors"
      : "";
    rollups.push(
      await queryRows(
        client,
        `SELECT ${keys.join(", ")}, sum(clicks) AS clicks${visitors} FROM ${table} GROUP BY ALL ORDER BY ALL`,
      ),
    );
  }
  return { clicks: Number(row?.clicks), rollups };
}

const keysOf = (found: readonly Difference[]) => found.map((one) => JSON.stringify(one)).toSorted();

/** Buckets of any rollup that are not what the raw clicks say. */
const compareRollups = () => findDifferences(client, { from: DAY, to: DAY + DAY_SECONDS });

test("an insert that is repeated under its token changes nothing in the raw clicks and in any rollup", async () => {
  const [first, second] = [await makeSegment(), await makeSegment()];
  await insert(first);
  const stored = await readStored();
  expect(stored.clicks).toBe(CLICKS);
  expect(stored.rollups.every((rows) => Array.isArray(rows) && rows.length > 0)).toBe(true);
  expect(await compareRollups()).toEqual([]);
  await insert(first);
  expect(await readStored()).toEqual(stored);
  await insert(second);
  await insert(first);
  expect((await readStored()).clicks).toBe(2 * CLICKS);
  expect(await compareRollups()).toEqual([]);
});

test("a new owner's history has each stored segment, also of a redirector whose clock is ahead", async () => {
  const ahead = Date.now() + DAY_SECONDS * 1_000;
  const segments = [
    await makeSegment(),
    await makeSegment(() => ({ time: ahead })),
    await makeSegment(() => ({ time: Date.now() })),
  ];
  for (const segment of segments) await insert(segment);
  const history = await new ClicksTable(client, new Metrics()).readHistory();
  for (const segment of segments) expect(history.has(segment)).toBe(true);
});

test("the room on ClickHouse's disk is known", async () => {
  await insert(await makeSegment());
  const { free, used } = await readRoom(client);
  const actual = readFreeBytes(stack.dataDir);
  expect(Math.abs(free - actual)).toBeLessThan(actual / 10);
  expect(used).toBeGreaterThan(0);
});

test("an insert that is repeated after ClickHouse was killed changes nothing, even if it was never restarted since the migrations", async () => {
  const rows = await makeSegment();
  await insert(rows);
  const stored = await readStored();
  for (let restarts = 0; restarts < 2; restarts++) {
    await killService(stack, "clickhouse");
    await client.close();
    client = connectClickHouse(stack.info().clickhouse_url);
    await eventually(() => insert(rows), 30_000);
    expect(await readStored()).toEqual(stored);
  }
});

test("an insert that reached the raw clicks but not the rollups is completed by the same insert", async () => {
  const views = [
    { name: "click_sums_view", tables: ROLLUP_TABLES.length - 3 },
    { name: "clicks_1h_view", tables: 1 },
    { name: "clicks_1d_places_view", tables: 1 },
  ];
  for (const { name, tables } of views) {
    const [view] = await queryRows<{ query: string }>(
      client,
      "SELECT create_table_query AS query FROM system.tables WHERE database = currentDatabase() AND name = {name: String}",
      { name },
    );
    const rows = await makeSegment();
    await client.command({ query: `DROP VIEW ${name}` });
    await insert(rows);
    await client.command({ query: view?.query ?? "" });
    const lacking = new Set((await compareRollups()).map(({ table }) => table));
    expect(lacking.size).toBe(tables);
    await insert(rows);
    expect(await compareRollups()).toEqual([]);
  }
  expect((await readStored()).clicks).toBe(views.length * CLICKS);
});

test("a state of up to 400 visitors has their exact number, however many states it is merged from", async () => {
  const wrong = await queryRows(
    client,
    `SELECT seed, visitors, states, uniqCombined64Merge(14)(state) AS estimate
       FROM (
         SELECT seed, visitors, states, visitor % states AS part,
                uniqCombined64State(14)(sipHash64(seed, visitor)) AS state
           FROM (
             SELECT number AS seed, arrayJoin([1, 16, 17, 100, 399, 400]) AS visitors,
                    arrayJoin([1, 3, 50]) AS states, arrayJoin(range(visitors)) AS visitor
               FROM numbers(20)
           )
          GROUP BY seed, visitors, states, part
       )
      GROUP BY seed, visitors, states
     HAVING estimate != visitors`,
  );
  expect(wrong).toEqual([]);
});

test("a comparison in pieces finds what one of the whole day finds, and exactly that is rebuilt", async () => {
  await insert(await makeSegment());
  const [first = "", second = "", third = ""] = LINKS;
  const deletions = [
    `clicks_1d_places WHERE subject_id IN ('${first}', '${ACCOUNT}')`,
    `clicks_1d_agents WHERE subject_id = '${ACCOUNT}'`,
    `clicks_1d_referrers WHERE subject_id = '${third}'`,
    `clicks_1d WHERE link_id = '${second}'`,
    `clicks_15m WHERE link_id = '${third}' AND toHour(bucket) = 4`,
    "clicks_1h_of_account WHERE toHour(bucket) = 7",
  ];
  for (const deletion of deletions) await client.command({ query: `DELETE FROM ${deletion}` });
  const found = await compareRollups();
  expect(new Set(found.map(({ table }) => table)).size).toBe(deletions.length);
  const range = { from: DAY, to: DAY + DAY_SECONDS };
  const inPieces = await findDifferences(client, range, CLICKS / 10);
  // The account's own row is right, which shows when the link's is.
  const suspected = ({ table, subject }: Difference) =>
    table === "clicks_1d_referrers" && subject === ACCOUNT;
  expect(inPieces.filter(suspected)).toHaveLength(1);
  expect(keysOf(inPieces.filter((one) => !suspected(one)))).toEqual(keysOf(found));
  const rebuilt: Difference[] = [];
  for (const group of groupDifferences(inPieces)) {
    const differences = await compareAgain(client, group);
    await rebuildBuckets(client, differences);
    rebuilt.push(...differences);
  }
  expect(keysOf(rebuilt)).toEqual(keysOf(found));
  expect(await compareRollups()).toEqual([]);
});

test("clicks that are all of the last second of a day are no difference", async () => {
  await insert(await makeSegment((i) => ({ time: (DAY + DAY_SECONDS) * 1_000 - 1 - i })));
  expect(await compareRollups()).toEqual([]);
});

test("texts arrive as they were sent, whatever they contain", async () => {
  const texts = [
    "\t",
    "\n",
    "\r",
    "\r\n",
    "\0",
    "\\",
    "\\N",
    "\\t",
    "'",
    '"',
    "; DROP TABLE clicks",
    "file('/etc/passwd')",
    "outfile ?? \\x41",
    "é 漢 🎈",
    "\u0001\u001f\u007f",
    " ",
    "",
  ];
  const textOf = (i: number) => texts[i % texts.length] ?? "";
  // Enclosed, too, as ends of fields and lines are where formats differ.
  const rows = await makeSegment((i) => ({
    host: textOf(i),
    query: new URLSearchParams({
      utm_source: textOf(i),
      utm_content: `a${textOf(i)}b`,
    }).toString(),
  }));
  await insert(rows);
  const stored = await queryRows<Record<"host" | "utm_source" | "utm_content", string>>(
    client,
    "SELECT host, utm_source, utm_content FROM clicks ORDER BY idx",
  );
  expect(stored).toEqual(
    Array.from({ length: CLICKS }, (_, i) => ({
      host: textOf(i),
      // Blanks at the ends of a UTM value are none of it.
      utm_source: textOf(i).trim(),
      utm_content: `a${textOf(i)}b`,
    })),
  );
});
