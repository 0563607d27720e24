/**
 * Every redirect that a client received is exactly one click in ClickHouse, in every rollup and on
 * the link, under any fault. Clients follow links on two redirectors and count their responses,
 * while faults chosen by a seed occur one after another; in the end the sums must be equal. A
 * redirect whose response was lost because its redirector was killed may count or not. Links that
 * are changed meanwhile have an event for each change, and a webhook gets each.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";

import { connect } from "nats";

import { natsLogin } from "../../shared/nats.ts";
import { createAccount } from "../harness/admin.ts";
import {
  BULK_LIMITS,
  type BulkLinks,
  createBulkLinks,
  LINKS_BEFORE,
  LINKS_MORE,
} from "../harness/bulk-links.ts";
import { eventually } from "../harness/eventually.ts";
import { createRandom, type Random } from "../harness/random.ts";
import { type Stack, startStack } from "../harness/stack.ts";
import { createFollowedLinks, startClients } from "./clients.ts";
import { expectEqual } from "./equality.ts";
import { startChanges } from "./events.ts";
import { keepEvidence } from "./evidence.ts";
import { expectAllRunning, startReplaceableRedirector, startReplaceableWorker } from "./faults.ts";
import { type Durations, ENDS_NATS, type Kind, KINDS } from "./kinds.ts";
import { startLossyClickHouse } from "./lossy-clickhouse.ts";
import type { Ledger, Targets } from "./targets.ts";

/** Time between two faults that end NATS. */
const NATS_SPACING_MS = 16_000;

/** How often links are added during a fault, once in so many faults. */
const MORE_LINKS_EVERY = 10;

/** Timeout until everything is running after a fault. */
const RECOVERY_TIMEOUT_MS = 60_000;

export type ChaosOptions = Durations & {
  seed: number;
  /** Least number of consecutive faults. */
  faults: number;
  /** The kinds of faults; all by default. */
  kinds?: readonly Kind[] | undefined;
  /** Requests before which faults do not end, however slow the machine is. */
  redirectsMin: number;
  /** Requests after which clients slow down until the faults are over. */
  redirectsMax: number;
  log: (line: string) => void;
};

export type ChaosReport = {
  redirected: number;
  unknown: number;
  stored: number;
  /** Changes of links that a webhook got. */
  delivered: number;
  faults: string[];
};

/** Runs the chaos test; throws an `UnequalError` if any count differs. */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const { log } = options;
  await using stack = await startStack();
  await using cleanup = new AsyncDisposableStack();
  const lossy = startLossyClickHouse(() => stack.info().clickhouse_url);
  cleanup.defer(() => lossy.stop());
  const [journal, deletedDir] = ["second-journal", "deleted-segments"].map((name) =>
    join(stack.dataDir, name),
  ) as [string, string];
  mkdirSync(journal);
  mkdirSync(deletedDir);
  const redirector = await startReplaceableRedirector(stack, journal);
  cleanup.defer(() => redirector.stop());
  const worker = await startReplaceableWorker(stack, lossy.url);
  cleanup.defer(() => worker.stop());
  const { key } = await createAccount(stack, "business");
  const links = await createFollowedLinks(stack, key);
  const tallies = new Map(links.map(({ id }) => [id, { redirected: 0, unknown: 0 }]));
  const ledger: Ledger = { links, tallies, retried: new Set(), deletedDir };
  const bases = () => [stack.info().short_url, redirector.current().url] as const;
  const bulk = await createLinksByBulk(stack, bases, log);
  const { key: changesKey } = await createAccount(stack, "enterprise", BULK_LIMITS);
  await using changes = await startChanges({
    key: changesKey,
    apiUrl: () => stack.info().api_url,
  });
  const clients = startClients(ledger, bases, options.redirectsMax);
  cleanup.defer(() => clients.stop().catch(() => undefined));

  try {
    // Both redirectors have all links before the first fault.
    await clients.restart(() => Promise.resolve());
    const targets = { stack, redirector, worker, lossy, ledger, restart: clients.restart };
    const isEnough = (done: number) =>
      done >= options.faults && clients.sent() >= options.redirectsMin;
    const faults = await injectFaults(options, targets, bulk, isEnough);
    await clients.stop();
    await changes.stop();
    await bulk.expectCurrent("all faults");
    await bulk.expectConsumers();
    const stored = await expectEqual(stack, key, ledger);
    const delivered = await changes.expectDelivered();
    const sum = (key: "redirected" | "unknown") =>
      [...tallies.values()].reduce((total, tally) => total + tally[key], 0);
    const [redirected, unknown] = [sum("redirected"), sum("unknown")];
    log(`${redirected} redirected, ${unknown} unknown, ${stored} stored`);
    log(`${delivered} changes of links recorded and delivered`);
    const report = { redirected, unknown, stored, delivered, faults };
    return report;
  } catch (error) {
    const logs = { "stack.log": stack.output(), "second-worker.log": worker.output() };
    await keepEvidence(stack, logs, log);
    throw error;
  }
}

/**
 * Injects each kind of fault once in random order, then again, until it is enough. Returns the
 * faults' names.
 */
async function injectFaults(
  { seed, log, kinds = Object.keys(KINDS) as Kind[], ...durations }: ChaosOptions,
  targets: Targets,
  bulk: BulkLinks,
  isEnough: (done: number) => boolean,
): Promise<string[]> {
  const random = createRandom(seed);
  const done: string[] = [];
  let natsEndedAt = 0;
  let queue: Kind[] = [];
  while (!isEnough(done.length)) {
    if (queue.length === 0) queue = shuffle(kinds, random);
    const kind = queue.pop();
    if (kind === undefined) throw new Error("There are no kinds of faults.");
    log(`${done.length + 1}. ${kind}`);
    // The services a fault needs may still be recovering from the previous one.
    await eventually(() => expectAllRunning(targets.stack), RECOVERY_TIMEOUT_MS);
    if (ENDS_NATS.has(kind)) {
      await Bun.sleep(Math.max(0, natsEndedAt + NATS_SPACING_MS - Date.now()));
      natsEndedAt = Date.now();
    }
    const inject = () => KINDS[kind](targets, random, durations);
    const adds = done.length % MORE_LINKS_EVERY === 0;
    await Promise.all([bulk.changeDuring(inject), ...(adds ? [bulk.create(LINKS_MORE)] : [])]);
    await bulk.expectCurrent(kind);
    done.push(kind);
    await Bun.sleep(random.between(200, 1_500));
  }
  return done;
}

function shuffle<T>(items: readonly T[], random: Random): T[] {
  const remaining = [...items];
  const shuffled: T[] = [];
  while (remaining.length > 0)
    shuffled.push(...remaining.splice(random.between(0, remaining.length - 1), 1));
  return shuffled;
}

/** Thousands of links of another account, which the clients do not follow. */
async function createLinksByBulk(
  stack: Stack,
  redirectors: () => readonly string[],
  log: (line: string) => void,
): Promise<BulkLinks> {
  const { key } = await createAccount(stack, "enterprise", BULK_LIMITS);
  const bulk = createBulkLinks({
    apis: () => [stack.info().api_url],
    key,
    redirectors,
    connectNats: () => connect(natsLogin(stack.info().nats_url)),
    log,
  });
  await bulk.prepare(LINKS_BEFORE);
  return bulk;
}
