/**
 * Clicks of the time before a drill, which exist in rollups only once retention has deleted the raw
 * ones.
 */
import { ROLLUP_TABLES } from "../../../shared/clicks/rollup-tables.ts";
import { CLICKS_STREAM } from "../../../shared/contracts/streams.ts";
import { runSql } from "../../harness/admin.ts";
import { eventually } from "../../harness/eventually.ts";
import { publishSegments, TestJournal } from "../../harness/segments.ts";
import { type Topology, withJetStream, withNats } from "./topology.ts";

/** Older than the retention of a drill's stack. */
const HISTORY_DAYS = 40;

const HISTORY_CLICKS = 500;

/** No drill lasts a day, and the bucket of a day is that old before the day is over. */
const RECENT_DAYS = 2;

const STORED_MS = 60_000;

/** Clicks of the history by rollup. Throws when ClickHouse does not respond. */
export async function readHistory(clickhouseUrl: string): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { table } of ROLLUP_TABLES) {
    const old = `bucket < now() - INTERVAL ${RECENT_DAYS} DAY`;
    const sum = await runSql(clickhouseUrl, `SELECT sum(clicks) FROM ${table} WHERE ${old}`);
    counts[table] = Number(sum);
  }
  return counts;
}

/** Stores clicks of some weeks ago, of which retention leaves the rollups only. */
export async function makeHistory(topology: Topology): Promise<Readonly<Record<string, number>>> {
  const journal = new TestJournal(undefined, HISTORY_DAYS * 86_400_000);
  const segment = journal.next(HISTORY_CLICKS);
  await withNats(topology.connectNats(), (nats) => publishSegments(nats, [segment]));
  const url = topology.clickhouseUrl();
  const history = await eventually(async () => {
    const [found, again] = [await readHistory(url), await readHistory(url)];
    // An insert fills one rollup after the other.
    const isWhole = Object.values(found).every((clicks) => clicks >= HISTORY_CLICKS);
    if (!isWhole || !Bun.deepEquals(found, again))
      throw new Error(`The history is not stored: ${JSON.stringify(found)}`);
    return found;
  }, STORED_MS);
  // It was delivered weeks ago.
  await withJetStream(topology.connectNats(), ({ streams }) => streams.purge(CLICKS_STREAM));
  return history;
}
