/** What must be so on two hosts after whatever came back. */
import { readReconciliation, readRedirectors } from "../../../cli/machines/clicks.ts";
import { connectClickHouse } from "../../../worker/clickhouse.ts";
import { eventually } from "../../harness/eventually.ts";
import { findLogConsumers } from "../../harness/log-consumers.ts";
import { readMetric } from "../../harness/prometheus.ts";
import type { HostTraffic } from "../loads/host-traffic.ts";
import type { Check } from "../parts.ts";
import { readHistory } from "../topologies/history.ts";
import type { TwoHosts } from "../topologies/two-hosts.ts";
import { expectLedgerComplete } from "./changes.ts";
import { expectEachClickOnce } from "./clicks.ts";
import { countWaiting } from "./stream.ts";

/** How long clicks may take to be stored, and everything to be right, on a quiet machine. */
const STORED_MS = 30_000;
const RIGHT_MS = 20_000;

/** The server removes consumers of redirectors that have ended after half a minute. */
const CONSUMERS_MS = 40_000;

type HostCheck = Check<TwoHosts, HostTraffic>;

/** A host that begins with nothing has all links: the others' stores hide what NATS lacks. */
export const FRESH_HOST: HostCheck = {
  name: "a host without links has all of them",
  async verify({ topology }) {
    const fresh = await topology.startThird();
    try {
      await topology.expectRight(fresh);
    } finally {
      await fresh.stop();
    }
  },
};

export const ONE_CONSUMER_EACH_HOST: HostCheck = {
  name: "one consumer for each host",
  verify: ({ topology }) =>
    eventually(async () => {
      const { used, unused } = await findLogConsumers(await topology.connectNats());
      if (used.length !== topology.hosts().length || unused.length > 0)
        throw new Error(`${used.length} consumers are used, ${unused.length} not.`);
    }, CONSUMERS_MS),
};

/** Nobody warns of anything any more. Counters stay, and what `doctor` said. */
const NOTHING_SAID: HostCheck = {
  name: "nothing is said afterwards",
  verify: ({ topology: { listener } }) =>
    eventually(async () => {
      const said = (await listener.listenOnce()).filter((line) => !LASTING.test(line));
      if (said.length > 0) throw new Error(said.join("; "));
    }, RIGHT_MS),
};

/** What counts since a start, and so does not go away. */
const LASTING =
  /_total:|alert Shorthop(?:ClicksDropped|FeedRecordSkipped|DeadLetters|RollupsDiffer)/;

const CLICKS: HostCheck = {
  name: "each click once",
  async verify({ topology, load: { redirects } }) {
    if (redirects === undefined) throw new Error("No clicks were counted.");
    await waitUntilDelivered(topology);
    const { lostClicksMax, settings } = topology;
    const stored = await expectEachClickOnce(topology, redirects, lostClicksMax);
    const { redirected } = redirects.total();
    if (stored < redirected - lostClicksMax)
      throw new Error(`${stored} of ${redirected} are stored; ${lostClicksMax} may be missing`);
    const lost = Math.max(0, redirected - stored);
    const links = settings.links.count + settings.links.others;
    return `${links} links; ${redirected} redirects, ${lost} lost of ${lostClicksMax} that may be`;
  },
};

/** Waits until no click is on its way, in journals or in the stream. */
async function waitUntilDelivered(topology: TwoHosts): Promise<void> {
  await eventually(async () => {
    for (const { metricsUrl } of topology.hosts()) {
      const waiting = await readMetric(metricsUrl, "shorthop_redirector_segments_pending");
      if (waiting !== 0) throw new Error(`${waiting} segments wait in a journal.`);
    }
    const waiting = await countWaiting(topology);
    if (waiting > 0) throw new Error(`${waiting} segments wait in the stream.`);
  }, STORED_MS);
}

/** No click of any link is stored twice. */
const NOTHING_TWICE: HostCheck = {
  name: "no click is counted twice",
  async verify({ topology }) {
    const nats = await topology.connectNats();
    const clickhouse = connectClickHouse(topology.clickhouseUrl());
    try {
      const metricsUrls = topology.hosts().map(({ metricsUrl }) => metricsUrl);
      const redirectors = await readRedirectors(metricsUrls);
      const { duplicates } = await readReconciliation(nats, clickhouse, redirectors);
      if (duplicates !== 0) throw new Error(`${duplicates} clicks are stored twice.`);
    } finally {
      await clickhouse.close();
      await nats.close();
    }
  },
};

/** Rollups of clicks that retention has deleted have not changed. */
const HISTORY: HostCheck = {
  name: "history",
  async verify({ topology }) {
    const now = await readHistory(topology.clickhouseUrl());
    if (!Bun.deepEquals(now, topology.history))
      throw new Error(
        `History was ${JSON.stringify(topology.history)}, is ${JSON.stringify(now)}.`,
      );
  },
};

const LEDGER: HostCheck = {
  name: "ledger complete",
  async verify({ topology, load: { changes } }) {
    if (changes === undefined) return "no events recorded";
    const count = await expectLedgerComplete(topology, changes);
    return `${count} events recorded once and delivered`;
  },
};

/** What a drill promises about what is said, and what is unavailable. */
type Promised = { mayBeUnavailable?: boolean; named?: RegExp };

/** Only at the end: what is said of a click may be said when it is stored. */
const asPromised = ({ mayBeUnavailable = false, named }: Promised): HostCheck => ({
  name: "what was seen meanwhile",
  async verify({ topology, load }) {
    const said = await topology.listener.stop();
    const { unavailable, undecided, redirects } = load;
    const failures = redirects?.failures ?? new Map<string, number>();
    const problems: string[] = [];
    if (!mayBeUnavailable && unavailable > 0) problems.push(`${unavailable} links got 503`);
    if (!mayBeUnavailable && undecided > 0 && said.length === 0)
      problems.push(`${undecided} aliases without a link got 503, and nothing said why`);
    if (!mayBeUnavailable && failures.size > 0)
      problems.push(`redirects failed: ${JSON.stringify([...failures])}`);
    if (named !== undefined && !said.some((line) => named.test(line)))
      problems.push(`nothing names it (${named.source}): ${said.join("; ")}`);
    if (problems.length > 0) throw new Error(problems.join("; "));
    const right = `right ${Math.max(...load.secondsUntilRight)} s after the end`;
    const names = namesIn(said);
    const heard = names.length === 0 ? "nothing was said" : `said: ${names.join(", ")}`;
    return [right, ...(unavailable > 0 ? [`${unavailable} answers 503`] : []), heard].join("; ");
  },
});

/** Names of alerts, parts and checks. */
function namesIn(said: readonly string[]): string[] {
  const names = said.map(
    (line) =>
      /alert (\w+)/.exec(line)?.[1] ??
      /^doctor \w+: [^,]*, ([^:]+):/.exec(line)?.[1] ??
      /^[\w ]+: ([\w ]+)/.exec(line)?.[1] ??
      line,
  );
  return [...new Set(names)].toSorted();
}

/** All that must hold after a drill. */
export const drillChecks = (promised: Promised): readonly HostCheck[] => [
  FRESH_HOST,
  NOTHING_SAID,
  CLICKS,
  NOTHING_TWICE,
  HISTORY,
  LEDGER,
  asPromised(promised),
];
