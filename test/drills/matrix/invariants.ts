/** What must be so after a cell; each returns what is wrong. */
import { mkdtempSync } from "node:fs";
import { join } from "node:path";

import { connect } from "nats";

import { readReconciliation, readRedirectors } from "../../../api/cli/reconciliation.ts";
import { natsLogin } from "../../../shared/nats.ts";
import { connectClickHouse } from "../../../worker/clickhouse.ts";
import { expectEqual } from "../../chaos/equality.ts";
import { countWaiting } from "../../chaos/stream.ts";
import type { Ledger } from "../../chaos/targets.ts";
import { eventually } from "../../harness/eventually.ts";
import { startRedirector } from "../../harness/processes.ts";
import { readHistory } from "./history.ts";
import type { System } from "./system.ts";

/** How long everything may take to be right on a quiet machine. */
const RIGHT_MS = 20_000;

/** How long clicks may take to be stored. */
const STORED_MS = 30_000;

/** A total of clicks of the counted links. */
export type Counted = { redirected: number; unknown: number; stored: number };

/** Waits until no click is on its way, in journals or in the stream. */
async function waitUntilDelivered(system: System): Promise<void> {
  await eventually(async () => {
    for (const url of [system.stack.info().redirector_metrics_url, system.other.metricsUrl]) {
      const metrics = await (await fetch(new URL("/metrics", url))).text();
      const waiting = /^shorthop_redirector_segments_pending (\d+)/m.exec(metrics)?.[1];
      if (waiting !== "0") throw new Error(`${waiting} segments wait in the journal of ${url}.`);
    }
    const waiting = await countWaiting(system.stack);
    if (waiting > 0) throw new Error(`${waiting} segments wait in the stream.`);
  }, STORED_MS);
}

/** Clicks that were acknowledged, and may be missing, count as those of which nobody knows. */
function forgive(ledger: Ledger, lostClicksMax: number): Ledger {
  const tallies = [...ledger.tallies].map(([id, { redirected, unknown }]) => {
    const lost = Math.min(lostClicksMax, redirected - 1);
    return [id, { redirected: redirected - lost, unknown: unknown + lost }] as const;
  });
  return { ...ledger, tallies: new Map(tallies) };
}

/**
 * Every click that was acknowledged is stored once, in every rollup and on its link, also when it
 * is sent again.
 */
export async function countClicks(system: System, lostClicksMax: number): Promise<Counted> {
  const { stack, ledger, links } = system;
  await waitUntilDelivered(system);
  const tallies = [...ledger.tallies.values()];
  const sum = (key: "redirected" | "unknown") =>
    tallies.reduce((total, tally) => total + tally[key], 0);
  const stored = await expectEqual(stack, links.key, forgive(ledger, lostClicksMax));
  const counted = { redirected: sum("redirected"), unknown: sum("unknown"), stored };
  if (stored < counted.redirected - lostClicksMax)
    throw new Error(`${JSON.stringify(counted)}, of which ${lostClicksMax} may be missing`);
  return counted;
}

/** No click of any link is stored twice. */
export async function expectNoDuplicates({ stack, other }: System): Promise<void> {
  const { nats_url, clickhouse_url, redirector_metrics_url } = stack.info();
  const nats = await connect(natsLogin(nats_url));
  const clickhouse = connectClickHouse(clickhouse_url);
  try {
    const redirectors = await readRedirectors([redirector_metrics_url, other.metricsUrl]);
    const { duplicates } = await readReconciliation(nats, clickhouse, redirectors);
    if (duplicates !== 0) throw new Error(`${duplicates} clicks are stored twice.`);
  } finally {
    await clickhouse.close();
    await nats.close();
  }
}

/**
 * Every link leads on both hosts where PostgreSQL says, which has what was acknowledged; and on one
 * that begins with nothing, as the others have stores that hide what the stream lacks.
 */
export async function expectLinksRight({ stack, links, other }: System): Promise<void> {
  await eventually(links.expectStored, RIGHT_MS);
  for (const url of [stack.info().short_url, other.url]) await links.waitUntilRight(url, RIGHT_MS);
  const LINKS_DIR = mkdtempSync(join(stack.dataDir, "new-links-"));
  const begun = await startRedirector(stack, { LINKS_DIR });
  try {
    await links.waitUntilRight(begun.url, RIGHT_MS);
  } finally {
    await begun.stop();
  }
}

export async function expectHistory({ stack, history }: System): Promise<void> {
  const now = await readHistory(stack.info().clickhouse_url);
  if (!Bun.deepEquals(now, history))
    throw new Error(`History was ${JSON.stringify(history)}, is ${JSON.stringify(now)}.`);
}

/** Nobody warns of anything any more. Counters stay, and what `doctor` said. */
export const expectWell = ({ listener }: System): Promise<void> =>
  eventually(async () => {
    const said = (await listener.listenOnce()).filter((line) => !LASTING.test(line));
    if (said.length > 0) throw new Error(said.join("; "));
  }, RIGHT_MS);

/** What counts since a start, and so does not go away. */
const LASTING =
  /_total:|alert Shorthop(?:ClicksDropped|FeedRecordSkipped|DeadLetters|RollupsDiffer)/;
