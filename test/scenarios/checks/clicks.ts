/** Checks that what is stored is what was redirected: every click once, everywhere. */
import * as z from "zod";

import { ROLLUP_TABLES } from "../../../shared/clicks/rollup-tables.ts";
import { decodeId, newUuid } from "../../../shared/ids.ts";
import { runSql } from "../../harness/admin.ts";
import { callOnce, linkSchema } from "../../harness/api.ts";
import { eventually } from "../../harness/eventually.ts";
import type { Redirects, Tally } from "../loads/redirects.ts";
import type { Topology } from "../topologies/topology.ts";
import { findAllDifferences } from "./evidence.ts";
import { countWaiting, findRepeated, publishAgain } from "./stream.ts";

/**
 * Clicks may take any time to arrive as long as there is progress; fails after this long without
 * any.
 */
const STUCK_MS = 60_000;
const POLL_MS = 500;

/**
 * Inserts that ClickHouse remembers when everything is sent again, and how many are made before.
 */
const WINDOW = 10;
const INSERTS = 15;

/**
 * Checks that everything is stored once, now and after all is sent again. Returns the number of
 * stored clicks. So many that were acknowledged may be missing of each link.
 */
export async function expectEachClickOnce(
  topology: Topology,
  redirects: Redirects,
  lostMax = 0,
): Promise<number> {
  let stored = 0;
  for (const [id, { redirected, unknown }] of redirects.tallies) {
    const lost = Math.max(0, Math.min(lostMax, redirected - 1));
    const tally = { redirected: redirected - lost, unknown: unknown + lost };
    stored += await expectClickCount(topology, redirects.key, id, tally);
  }
  const { repeated, dead } = await findRepeated(topology);
  const unexpected = repeated.filter((id) => !redirects.retried.has(id));
  if (unexpected.length > 0)
    throw new Error(`The stream contains twice: ${unexpected.slice(0, 10).join(", ")}`);
  if (dead > 0) throw new Error(`${dead} segments were dead-lettered.`);
  await sendAgain(topology, redirects.deletedDir);
  for (const id of redirects.tallies.keys()) {
    const again = await readCounts(topology, id);
    if (again.clicks !== again.positions || again.clicks !== again.rollup)
      throw new Error(`${id}: sent again, and ${JSON.stringify(again)}`);
  }
  const differences = await findAllDifferences(topology);
  if (differences.length > 0) throw new Error(`Rollups differ: ${JSON.stringify(differences)}`);
  return stored;
}

/** Waits until all redirects are stored; returns the number of clicks. */
async function expectClickCount(
  topology: Topology,
  key: string,
  id: string,
  { redirected, unknown }: Tally,
): Promise<number> {
  if (redirected === 0) throw new Error("No redirect succeeded.");
  const clicks = await waitUntilStored(topology, key, id, redirected);
  if (clicks > redirected + unknown)
    throw new Error(`${id}: ${redirected} redirected, ${unknown} unknown, ${clicks} stored`);
  return clicks;
}

/**
 * Waits until all redirects are stored, and until the rollups and the link's click counter are
 * equal. Returns the number of clicks.
 */
async function waitUntilStored(
  topology: Topology,
  key: string,
  id: string,
  redirected: number,
): Promise<number> {
  let lastProgress = "";
  let since = Date.now();
  for (;;) {
    // The last fault may have ended ClickHouse or the API, which a supervisor starts again.
    const [counts, clicks] = await eventually(async () => {
      const { body } = await callOnce(`${topology.apis()[0]}/v1/links/${id}`, { key });
      return [await readCounts(topology, id), linkSchema.parse(body).clicks] as const;
    }, STUCK_MS);
    const isEqual = Object.values(counts).every((count) => count === clicks);
    if (clicks >= redirected && isEqual) return clicks;
    const progress = `${redirected} redirected, ${JSON.stringify(counts)} stored, ${clicks} on the link`;
    if (progress !== lastProgress) since = Date.now();
    lastProgress = progress;
    if (Date.now() - since > STUCK_MS) {
      const waiting = await countWaiting(topology);
      // What is delivered and not stored says nothing about clicks: no worker works.
      if (waiting > 0) throw new Error(`${id}: ${progress}, and ${waiting} segments wait.`);
      throw new Error(`${id}: ${progress}, without further progress.`);
    }
    await Bun.sleep(POLL_MS);
  }
}

const countsRow = z.object({
  clicks: z.coerce.number(),
  positions: z.coerce.number(),
  rollup: z.coerce.number(),
  by_device: z.coerce.number(),
});

/** Reads ClickHouse's counts for a link: rows, distinct journal positions, and both rollups. */
async function readCounts(topology: Topology, id: string) {
  const uuid = `link_id = {link: UUID}`;
  const query = `
    SELECT (SELECT count() FROM clicks WHERE ${uuid}) AS clicks,
           (SELECT uniqExact((journal_id, segment, idx)) FROM clicks WHERE ${uuid}) AS positions,
           (SELECT sum(clicks) FROM clicks_15m WHERE ${uuid}) AS rollup,
           (SELECT sum(clicks) FROM clicks_1d_agents WHERE subject_id = {link: UUID}) AS by_device
    FORMAT JSONEachRow`;
  const parameters = { param_link: decodeId("link", id) ?? "" };
  return countsRow.parse(JSON.parse(await runSql(topology.clickhouseUrl(), query, parameters)));
}

/**
 * Sends everything again, after more inserts than ClickHouse remembers, and waits until it is
 * acknowledged: that each segment is stored once must not depend on ClickHouse.
 */
async function sendAgain(topology: Topology, deletedDir: string): Promise<void> {
  for (const table of ["clicks", ...ROLLUP_TABLES.map((rollup) => rollup.table)])
    await runSql(
      topology.clickhouseUrl(),
      `ALTER TABLE ${table} MODIFY SETTING non_replicated_deduplication_window = ${WINDOW}`,
    );
  for (let i = 0; i < INSERTS; i++)
    await runSql(
      topology.clickhouseUrl(),
      `INSERT INTO clicks (ts, link_id, account_id, mode, class, journal_id, segment, idx)
       SELECT now64(3), '${newUuid()}', '${newUuid()}', 'live', 'human', '${newUuid()}', 0, 0`,
    );
  await publishAgain(topology, deletedDir);
  await eventually(async () => {
    if ((await countWaiting(topology)) > 0) throw new Error("Segments are not acknowledged.");
  }, STUCK_MS);
}
