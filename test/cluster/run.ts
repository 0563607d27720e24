/** The cluster test: faults, one after the other, on a fleet that is used all the time. */
import { decodeId } from "../../shared/ids.ts";
import { startChanges } from "../chaos/events.ts";
import { callOnce } from "../harness/api.ts";
import { createBulkLinks, LINKS_MORE } from "../harness/bulk-links.ts";
import { eventually } from "../harness/eventually.ts";
import type { NatsProgram } from "../harness/nats-versions.ts";
import { createRandom } from "../harness/random.ts";
import { faultsOf } from "./faults.ts";
import { type Fleet, type Member, startFleet } from "./fleet.ts";
import { prepareLinks, startLoad, versionOf } from "./load.ts";
import { describePositions } from "./positions.ts";

/** Links are added during one fault of so many. */
const MORE_LINKS_EVERY = 10;
const STORED_TIMEOUT_MS = 30_000;

/** A change that a redirector has missed does not come later. */
const CONVERGENCE_MS = 2_000;

export type ClusterOptions = {
  program: NatsProgram;
  seed: number;
  rounds: number;
  /** Links before the first fault. */
  links: number;
  redirectsPerSecond: number;
  writesPerSecond: number;
  /** Quiet time around a fault: what is measured then is this fault's. */
  quietMs: number;
  log: (line: string) => void;
};

export type ClusterReport = {
  failures: string[];
  missing: string[];
  /** Links that still lead to an older target when all is well again. */
  outdated: string[];
  redirected: number;
  unknown: number;
  stored: number;
  /** Changes of links that the ledger has, and that a webhook got. */
  delivered: number;
  /** The longest interruptions of each round. */
  rounds: {
    fault: string;
    redirectGapMs: number;
    writeGapMs: number;
    publishGapMs: number;
    stalenessMs: number;
  }[];
};

const urlsOf = (members: readonly Member[]): string[] => members.map(({ url }) => url);

/** Runs the test; the caller judges the report. */
export async function runCluster(options: ClusterOptions): Promise<ClusterReport> {
  const { rounds, quietMs, log } = options;
  const random = createRandom(options.seed);
  const pick = <T>(items: readonly T[]): T => {
    const item = items[random.between(0, items.length - 1)];
    if (item === undefined) throw new Error("There is nothing to choose from.");
    return item;
  };
  await using fleet = await startFleet(options.program);
  const bulk = createBulkLinks({
    apis: () => urlsOf(fleet.apis),
    key: fleet.key,
    redirectors: () => urlsOf(fleet.redirectors),
    connectNats: () => fleet.nats.connect("operator"),
    log,
  });
  await bulk.prepare(options.links);
  const links = await prepareLinks(fleet);
  const rates = { redirects: options.redirectsPerSecond, writes: options.writesPerSecond };
  const load = startLoad(fleet, links, rates);
  let turn = 0;
  await using changes = await startChanges({
    key: fleet.otherKey,
    apiUrl: () => fleet.apis[turn++ % fleet.apis.length]?.url ?? "",
  });
  const report: ClusterReport["rounds"] = [];
  let queue: ReturnType<typeof faultsOf> = [];
  try {
    for (let round = 1; round <= rounds; round++) {
      // Every kind once, in random order, before any comes again.
      if (queue.length === 0) queue = faultsOf(fleet, pick);
      const fault = pick(queue);
      queue = queue.filter((other) => other !== fault);
      await Bun.sleep(quietMs);
      load.takeGaps();
      await Promise.all([
        bulk.changeDuring(fault.inject),
        ...(round % MORE_LINKS_EVERY === 1 ? [bulk.create(LINKS_MORE)] : []),
      ]);
      await Bun.sleep(quietMs);
      const gaps = load.takeGaps();
      report.push({ fault: fault.name, ...gaps });
      const [redirects, writes, published, staleness] = Object.values(gaps).map(Math.round);
      log(
        `${round}. ${fault.name}: no redirect for ${redirects} ms, no write for ${writes} ms, none published for ${published} ms, a target outdated by ${staleness} ms`,
      );
      await bulk.expectCurrent(fault.name).catch(async (cause) => {
        throw new Error(await describePositions(fleet), { cause });
      });
      log(await describePositions(fleet));
    }
    await changes.stop();
  } finally {
    await load.stop();
  }
  const delivered = await changes.expectDelivered();
  await bulk.expectConsumers();
  const sum = (read: (link: (typeof links)[number]) => number) =>
    links.reduce((total, link) => total + read(link), 0);
  const missing = await findMissing(fleet, load.created);
  const outdated = await findOutdated(fleet, links);
  const redirected = sum((link) => link.redirected);
  const stored = await countStored(
    fleet,
    links.map(({ id }) => id),
    redirected,
  );
  log(`${load.created.length} links created, ${load.unavailable()} requests answered 503`);
  return {
    failures: load.failures,
    missing,
    outdated,
    redirected,
    unknown: sum((link) => link.unknown),
    stored,
    delivered,
    rounds: report,
  };
}

/** Returns the acknowledged links that a redirector does not know. */
async function findMissing({ redirectors }: Fleet, aliases: readonly string[]): Promise<string[]> {
  const missing: string[] = [];
  for (const { url } of redirectors) {
    for (const alias of aliases) {
      await eventually(async () => {
        const { status } = await callOnce(`${url}/${alias}`);
        if (status !== 302) throw new Error(`${alias}: ${status}`);
      }, 1_000).catch(() => missing.push(alias));
    }
  }
  return missing;
}

/** Returns the links for which a redirector does not know the last change that was acknowledged. */
async function findOutdated(
  { redirectors }: Fleet,
  links: Awaited<ReturnType<typeof prepareLinks>>,
): Promise<string[]> {
  const outdated: string[] = [];
  for (const { url } of redirectors) {
    for (const link of links) {
      const last = Math.max(0, ...link.acknowledgedAt.keys());
      await eventually(async () => {
        const { headers } = await callOnce(`${url}/${link.alias}`);
        link.redirected++;
        const version = versionOf(headers);
        if (version < last) throw new Error(`${link.alias}: ${version} instead of ${last}`);
      }, CONVERGENCE_MS).catch((error: unknown) => outdated.push(String(error)));
    }
  }
  return outdated;
}

/**
 * Counts the clicks of these links in ClickHouse, when there are as many as redirects or no more
 * come.
 */
async function countStored(
  { clickhouseUrl }: Fleet,
  ids: readonly string[],
  redirected: number,
): Promise<number> {
  const uuids = ids.map((id) => `'${decodeId("link", id) ?? ""}'`).join(",");
  const query = `SELECT count() FROM clicks WHERE link_id IN (${uuids})`;
  let stored = 0;
  await eventually(async () => {
    const response = await fetch(`${clickhouseUrl}/?query=${encodeURIComponent(query)}`);
    stored = Number(await response.text());
    if (stored < redirected) throw new Error(`${stored} of ${redirected} clicks are stored.`);
  }, STORED_TIMEOUT_MS).catch(() => undefined);
  return stored;
}
