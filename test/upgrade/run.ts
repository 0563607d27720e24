/** An upgrade from the version that inserted each segment by itself, with clicks in flight. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";

import { connect } from "nats";

import { natsLogin } from "../../shared/nats.ts";
import { startClients } from "../chaos/clients.ts";
import { expectEqual } from "../chaos/equality.ts";
import { keepEvidence } from "../chaos/evidence.ts";
import { startLossyClickHouse } from "../chaos/lossy-clickhouse.ts";
import { breakInserts, mendInserts } from "../chaos/owner-faults.ts";
import { countWaiting } from "../chaos/stream.ts";
import type { Ledger } from "../chaos/targets.ts";
import { admin, type NewAccount } from "../harness/admin.ts";
import { call, linkSchema } from "../harness/api.ts";
import {
  BULK_LIMITS,
  createBulkLinks,
  LINKS_BEFORE,
  LINKS_CHANGED,
  LINKS_MORE,
} from "../harness/bulk-links.ts";
import { eventually } from "../harness/eventually.ts";
import { startWorker } from "../harness/processes.ts";
import { createDataDir, removeDataDir, type Stack, startStack } from "../harness/stack.ts";

const LINKS = 3;
const REDIRECTS_MAX = 100_000;

/** Segments that wait in the stream when the new program starts. */
const WAITING_MIN = 20;

const TIMEOUT_MS = 30_000;

/** The old program's insert of a segment. */
const OLD_INSERT = /^INSERT INTO clicks /;

/** Upgrades from the program in `oldRoot`; throws an `UnequalError` if then any count differs. */
export async function runUpgrade(oldRoot: string, log: (line: string) => void): Promise<void> {
  const dataDir = createDataDir();
  await using cleanup = new AsyncDisposableStack();
  cleanup.defer(() => removeDataDir(dataDir));
  let stack = await startStack({ root: oldRoot, dataDir });
  cleanup.defer(async () => void (await stack.stop()));
  const key = stack.info().api_key;
  const links = await createLinks(stack, key);
  const tallies = new Map(links.map(({ id }) => [id, { redirected: 0, unknown: 0 }]));
  const deletedDir = join(dataDir, "deleted-segments");
  mkdirSync(deletedDir);
  const ledger: Ledger = { links, tallies, retried: new Set(), deletedDir };
  let url = stack.info().short_url;
  const account = await createAccount(stack);
  const bulk = createBulkLinks({
    apis: () => [stack.info().api_url],
    key: account.key,
    redirectors: () => [url],
    connectNats: () => connect(natsLogin(stack.info().nats_url)),
    log,
  });
  await bulk.prepare(LINKS_BEFORE);
  const clients = startClients(ledger, () => [url, url], REDIRECTS_MAX);
  cleanup.defer(() => clients.stop().catch(() => undefined));
  await clients.restart(() => Promise.resolve());

  await killOldWorkers(stack);
  await eventually(async () => {
    const waiting = await countWaiting(stack);
    if (waiting < WAITING_MIN) throw new Error(`${waiting} segments wait.`);
  }, TIMEOUT_MS);
  log(`${clients.sent()} requests to the old program`);
  await clients.restart(async () => {
    // The sleeping worker is killed after a while.
    await stack.stop();
    stack = await startStack({ dataDir });
    url = stack.info().short_url;
  });
  // The new redirector began with links of the old one in its memory.
  await bulk.create(LINKS_MORE);
  await bulk.change(LINKS_CHANGED);
  await bulk.expectCurrent("the upgrade");
  await bulk.expectConsumers();
  await clients.stop();
  try {
    const stored = await expectEqual(stack, key, ledger);
    const [redirected, unknown] = (["redirected", "unknown"] as const).map((name) =>
      [...tallies.values()].reduce((total, tally) => total + tally[name], 0),
    );
    log(`${redirected} redirected, ${unknown} unknown, ${stored} stored`);
  } catch (error) {
    await keepEvidence(stack, { "stack.log": stack.output() }, log);
    throw error;
  }
}

/**
 * Ends the old program's workers with one segment that is stored and not acknowledged, one whose
 * insert never arrived, and one that is in `clicks`, but not in the rollups.
 */
async function killOldWorkers(stack: Stack): Promise<void> {
  const lossy = startLossyClickHouse(() => stack.info().clickhouse_url);
  try {
    const worker = await startWorker(stack, { CLICKHOUSE_URL: lossy.url });
    // It stays asleep until it is killed with the stack.
    process.kill(Number(stack.info().pids.worker), "SIGSTOP");
    const stored = lossy.hold(OLD_INSERT, "after");
    await stored.reached;
    const lost = lossy.hold(OLD_INSERT, "before");
    await lost.reached;
    await breakInserts(stack);
    const half = lossy.hold(OLD_INSERT, "after");
    await half.reached;
    process.kill(worker.pid, "SIGKILL");
    for (const hold of [stored, lost, half]) hold.drop();
    await mendInserts(stack);
  } finally {
    await lossy.stop();
  }
}

/** Creates an account by the old program, whose database lacks tables of this one. */
const createAccount = (stack: Stack): Promise<NewAccount> => {
  const limits = ["--limits", JSON.stringify(BULK_LIMITS)];
  const account = ["accounts", "create", "--name", "Upgrade", "--plan", "enterprise", "--key"];
  return admin(stack, [...account, ...limits]);
};

const createLinks = (stack: Stack, key: string) =>
  Promise.all(
    Array.from({ length: LINKS }, async (_, i) => {
      const { body } = await call(`${stack.info().api_url}/v1/links`, {
        key,
        body: { url: `https://example.com/${i}` },
      });
      return linkSchema.parse(body);
    }),
  );
