/**
 * Clicks of the time before a drill, which exist in rollups only once retention has deleted the raw
 * ones.
 */
import { connect } from "nats";
import * as z from "zod";

import { ROLLUP_TABLES } from "../../../shared/clicks/rollup-tables.ts";
import { CLICKS_STREAM } from "../../../shared/contracts/streams.ts";
import { natsLogin } from "../../../shared/nats.ts";
import { eventually } from "../../harness/eventually.ts";
import { publishSegments, TestJournal } from "../../harness/segments.ts";

/** Older than the retention of a drill's stack. */
const HISTORY_DAYS = 40;

const HISTORY_CLICKS = 500;

/** Everything before the last day is history: no drill lasts so long. */
const RECENT_DAYS = 1;

const STORED_MS = 60_000;

const countRow = z.object({ clicks: z.coerce.number() });

/** Clicks of the history by rollup. Throws when ClickHouse does not respond. */
export async function readHistory(clickhouseUrl: string): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { table } of ROLLUP_TABLES) {
    const query = `SELECT sum(clicks) AS clicks FROM ${table}
      WHERE bucket < now() - INTERVAL ${RECENT_DAYS} DAY FORMAT JSONEachRow`;
    const parameters = new URLSearchParams({ query });
    const response = await fetch(`${clickhouseUrl}/?${parameters.toString()}`);
    counts[table] = countRow.parse(await response.json()).clicks;
  }
  return counts;
}

/** Stores clicks of some weeks ago, of which retention leaves the rollups only. */
export async function makeHistory({
  nats_url,
  clickhouse_url,
}: {
  nats_url: string;
  clickhouse_url: string;
}): Promise<Readonly<Record<string, number>>> {
  const nats = await connect(natsLogin(nats_url));
  await publishSegments(nats, [
    new TestJournal(undefined, HISTORY_DAYS * 86_400_000).next(HISTORY_CLICKS),
  ]);
  const history = await eventually(async () => {
    const [found, again] = [await readHistory(clickhouse_url), await readHistory(clickhouse_url)];
    // An insert fills one rollup after the other.
    const isWhole = Object.values(found).every((clicks) => clicks >= HISTORY_CLICKS);
    if (!isWhole || !Bun.deepEquals(found, again))
      throw new Error(`The history is not stored: ${JSON.stringify(found)}`);
    return found;
  }, STORED_MS);
  // It was delivered weeks ago.
  await (await nats.jetstreamManager()).streams.purge(CLICKS_STREAM);
  await nats.close();
  return history;
}
