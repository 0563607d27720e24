/**
 * Every redirect that a client received is exactly one click in ClickHouse, in every rollup and on the link, under any
 * fault. Clients follow links on two redirectors and count their responses, while faults chosen by a seed occur one
 * after another; in the end the sums must be equal. A redirect whose response was lost because its redirector was
 * killed may count or not.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";

import { createClient } from "@clickhouse/client";
import { connect } from "nats";
import * as z from "zod";

import { findDifferences } from "../../shared/clicks/rollups.ts";
import { decodeSegment, formatSegmentId } from "../../shared/contracts/click-segment.ts";
import {
  CLICKS_STREAM,
  CLICKS_SUBJECT,
  CLICKS_WORKER,
  DEAD_LETTERS_STREAM,
} from "../../shared/contracts/streams.ts";
import { decodeId } from "../../shared/ids.ts";
import { natsLogin } from "../../shared/nats.ts";
import { createAccount } from "../harness/admin.ts";
import { call, linkSchema } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { type Stack, startStack } from "../harness/stack.ts";
import {
  disturbClickHouse,
  expectAllRunning,
  fillStream,
  killOwner,
  killService,
  pauseNats,
  pauseOwner,
  type Replaceable,
  rollBackNats,
  rollBackNatsDuringInsert,
  startReplaceableRedirector,
  startReplaceableWorker,
} from "./faults.ts";
import { type LossyClickHouse, startLossyClickHouse } from "./lossy-clickhouse.ts";
import { createRandom, type Random } from "./random.ts";

const LINKS = 5;
const CLIENTS = 8;

/** Clicks may take any time to arrive as long as there is progress; fails after this long without any. */
const STUCK_MS = 60_000;
const POLL_MS = 500;

/** The local stack stops if a service ends five times within a minute; some faults end NATS. */
const NATS_RESTARTS = new Set(["kill nats", "roll back nats", "roll back nats during an insert"]);
const NATS_SPACING_MS = 16_000;

/** Timeout until everything is running after a fault. */
const RECOVERY_TIMEOUT_MS = 60_000;

/** How far back rollups are compared with the clicks: longer than any run. */
const CHECKED_SECONDS = 6 * 3_600;

/** Lines of the stack's output to print if it does not recover from a fault. */
const LINES_SHOWN = 200;

export type ChaosOptions = {
  seed: number;
  /** Number of consecutive faults. */
  faults: number;
  /** Longest pause of NATS. */
  pauseMs: number;
  /** Requests after which clients slow down until the faults are over. */
  redirectsMax: number;
  log: (line: string) => void;
};

export type ChaosReport = { redirected: number; unknown: number; stored: number; faults: string[] };

type FollowedLink = { id: string; alias: string };

type Tally = { redirected: number; unknown: number };

/** Runs the chaos test; throws if any count differs. */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const { log, redirectsMax } = options;
  await using stack = await startStack();
  await using cleanup = new AsyncDisposableStack();
  const lossy = startLossyClickHouse(() => stack.info().clickhouse_url);
  cleanup.defer(() => lossy.stop());
  const journal = join(stack.dataDir, "second-journal");
  mkdirSync(journal);
  const redirector = await startReplaceableRedirector(stack, journal);
  cleanup.defer(() => redirector.stop());
  const worker = await startReplaceableWorker(stack, lossy.url);
  cleanup.defer(() => worker.stop());
  const { key } = await createAccount(stack, "business");
  const links = await createLinks(stack, key);
  const tallies = new Map(
    links.map(({ id }): [string, Tally] => [id, { redirected: 0, unknown: 0 }]),
  );
  const failures = new Map<number, number>();
  let sent = 0;
  let stopped = false;
  let restarting = false;
  cleanup.defer(() => void (stopped = true));

  /** Follows a link once and counts the response; returns its status, undefined if none arrived. */
  async function followCounted(base: string, { id, alias }: FollowedLink, address: string) {
    const status = await follow(new URL(alias, base).href, address);
    const tally = tallies.get(id) ?? { redirected: 0, unknown: 0 };
    if (status === undefined) tally.unknown++;
    else if (status === 302) tally.redirected++;
    tallies.set(id, tally);
    return status;
  }

  const clients = Array.from({ length: CLIENTS }, async (_, client) => {
    for (let i = client; !stopped; i += CLIENTS) {
      const link = links[i % LINKS];
      if (link === undefined) return;
      if (sent++ > redirectsMax) await Bun.sleep(50);
      const base = i % 2 === 0 ? stack.info().short_url : redirector.current().url;
      const wasRestarting = restarting;
      const status = await followCounted(base, link, `198.51.100.${i % 200}`);
      if (status === undefined || status === 302) continue;
      // A restarted redirector fetches links from NATS, which may not respond in time on a slow machine.
      if (status !== 503 || !(wasRestarting || restarting))
        failures.set(status, (failures.get(status) ?? 0) + 1);
    }
  });

  /** Runs `kill`, which kills a redirector, and waits until all links redirect: the next fault may take NATS away. */
  const restart = async (kill: () => Promise<void>): Promise<void> => {
    restarting = true;
    await kill();
    await eventually(async () => {
      for (const base of [stack.info().short_url, redirector.current().url]) {
        for (const link of links) {
          const status = await followCounted(base, link, "198.51.100.250");
          if (status !== 302) throw new Error(`${base} responded with ${status}.`);
        }
      }
    }, RECOVERY_TIMEOUT_MS);
    restarting = false;
  };

  // Both redirectors have all links before the first fault.
  await restart(() => Promise.resolve());
  const faults = await injectFaults(options, { stack, redirector, worker, lossy, restart }).catch(
    (error: unknown) => {
      // The stack's output would otherwise be lost with it.
      log(stack.output().split("\n").slice(-LINES_SHOWN).join("\n"));
      throw error;
    },
  );
  stopped = true;
  await Promise.all(clients);
  if (failures.size > 0) throw new Error(`Redirects failed: ${JSON.stringify([...failures])}`);

  let stored = 0;
  for (const { id } of links) {
    const tally = tallies.get(id) ?? { redirected: 0, unknown: 0 };
    stored += await expectClickCount(stack, key, id, tally);
  }
  await expectNoDuplicates(stack);
  await sendAgain(stack);
  for (const { id } of links) {
    const again = await readCounts(stack, id);
    if (again.clicks !== again.positions || again.clicks !== again.rollup)
      throw new Error(`${id}: sent again, and ${JSON.stringify(again)}`);
  }
  await expectRollupsEqual(stack);
  const sum = (read: (tally: Tally) => number) =>
    [...tallies.values()].reduce((total, tally) => total + read(tally), 0);
  const report = {
    redirected: sum((tally) => tally.redirected),
    unknown: sum((tally) => tally.unknown),
    stored,
    faults,
  };
  log(`${report.redirected} redirected, ${report.unknown} unknown, ${report.stored} stored`);
  return report;
}

type Targets = {
  stack: Stack;
  redirector: Replaceable;
  worker: Replaceable;
  lossy: LossyClickHouse;
  /** Runs `kill`, which kills a redirector, and waits until its replacement redirects all links. */
  restart: (kill: () => Promise<void>) => Promise<void>;
};

/** Injects each kind of fault at least once in random order, then random ones. Returns the faults' names. */
async function injectFaults(
  { seed, faults: count, pauseMs, log }: ChaosOptions,
  targets: Targets,
): Promise<string[]> {
  const random = createRandom(seed);
  const { stack, redirector, worker, lossy, restart } = targets;
  const kinds: Record<string, () => Promise<void>> = {
    "kill redirector": () => restart(() => killService(stack, "redirector")),
    "kill second redirector": () => restart(redirector.kill),
    "kill worker": () => killService(stack, "worker"),
    "kill second worker": () => worker.kill(),
    "kill api": () => killService(stack, "api"),
    "kill nats": () => killService(stack, "nats"),
    "kill clickhouse": () => killService(stack, "clickhouse"),
    "kill postgres": () => killService(stack, "postgres"),
    "pause nats": () => pauseNats(stack, random.between(1_000, pauseMs)),
    "roll back nats": () => rollBackNats(stack, random.between(2_000, 4_000)),
    "fill stream": () => fillStream(stack, random.between(1_000, 3_000)),
    "clickhouse fails": () => disturbClickHouse(lossy, "error", random.between(1_000, 3_000)),
    "clickhouse loses responses": () =>
      disturbClickHouse(lossy, "lose_response", random.between(1_000, 3_000)),
    "kill owner before manifest": () => killOwner(targets, "manifest", "before"),
    "kill owner after manifest": () => killOwner(targets, "manifest", "after"),
    "kill owner before insert, which arrives late": () =>
      killOwner(targets, "insert", "before", "late"),
    "kill owner after insert": () => killOwner(targets, "insert", "after"),
    "pause owner before manifest": () => pauseOwner(targets, "manifest"),
    "pause owner before insert": () => pauseOwner(targets, "insert"),
    "roll back nats during an insert": () =>
      rollBackNatsDuringInsert(targets, random.between(8_000, 10_000)),
  };
  const done: string[] = [];
  let natsEndedAt = 0;
  let queue = shuffle(Object.keys(kinds), random);
  while (done.length < count) {
    const name = queue.pop();
    if (name === undefined) {
      queue = shuffle(Object.keys(kinds), random);
      continue;
    }
    log(`${done.length + 1}. ${name}`);
    // The services a fault needs may still be recovering from the previous one.
    await eventually(() => expectAllRunning(stack), RECOVERY_TIMEOUT_MS);
    if (NATS_RESTARTS.has(name)) {
      await Bun.sleep(Math.max(0, natsEndedAt + NATS_SPACING_MS - Date.now()));
      natsEndedAt = Date.now();
    }
    await kinds[name]?.();
    done.push(name);
    await Bun.sleep(random.between(200, 1_500));
  }
  return done;
}

function shuffle(names: string[], random: Random): string[] {
  const remaining = [...names];
  const shuffled: string[] = [];
  while (remaining.length > 0)
    shuffled.push(...remaining.splice(random.between(0, remaining.length - 1), 1));
  return shuffled;
}

async function createLinks(stack: Stack, key: string) {
  return await Promise.all(
    Array.from({ length: LINKS }, async (_, i) => {
      const { body } = await call(`${stack.info().api_url}/v1/links`, {
        key,
        body: { url: `https://example.com/${i}` },
      });
      return linkSchema.parse(body);
    }),
  );
}

/** Follows a link once; undefined if no response arrived. */
async function follow(url: string, address: string): Promise<number | undefined> {
  try {
    const headers = { "x-forwarded-for": address };
    return (await fetch(url, { redirect: "manual", headers })).status;
  } catch {
    // The redirector was killed; its replacement needs a moment.
    await Bun.sleep(20);
    return undefined;
  }
}

const countsRow = z.object({
  clicks: z.coerce.number(),
  positions: z.coerce.number(),
  rollup: z.coerce.number(),
  by_device: z.coerce.number(),
});

/** Waits until all redirects are stored; returns the number of clicks. */
async function expectClickCount(
  stack: Stack,
  key: string,
  id: string,
  { redirected, unknown }: Tally,
): Promise<number> {
  if (redirected === 0) throw new Error("No redirect succeeded.");
  const counts = await waitUntilStored(stack, key, id, redirected);
  const { clicks } = counts;
  if (clicks > redirected + unknown)
    throw new Error(`${id}: ${redirected} redirected, ${unknown} unknown, ${clicks} stored`);
  for (const [name, value] of Object.entries(counts)) {
    if (value !== clicks) throw new Error(`${id}: ${clicks} stored, ${name} ${value}`);
  }
  return clicks;
}

/** Waits until all redirects are stored and the link's click counter is equal. */
async function waitUntilStored(stack: Stack, key: string, id: string, redirected: number) {
  let lastProgress = "";
  let since = Date.now();
  for (;;) {
    const counts = await readCounts(stack, id);
    const { body } = await call(`${stack.info().api_url}/v1/links/${id}`, { key });
    const { clicks } = linkSchema.parse(body);
    if (counts.clicks >= redirected && clicks === counts.clicks) return counts;
    const progress = `${redirected} redirected, ${counts.clicks} stored, ${clicks} on the link`;
    if (progress !== lastProgress) since = Date.now();
    lastProgress = progress;
    if (Date.now() - since > STUCK_MS)
      throw new Error(`${id}: ${progress}, without further progress.`);
    await Bun.sleep(POLL_MS);
  }
}

/** Reads ClickHouse's counts for a link: rows, distinct journal positions, and both rollups. */
async function readCounts(stack: Stack, id: string) {
  const uuid = `link_id = {link: UUID}`;
  const query = `
    SELECT (SELECT count() FROM clicks WHERE ${uuid}) AS clicks,
           (SELECT uniqExact((journal_id, segment, idx)) FROM clicks WHERE ${uuid}) AS positions,
           (SELECT sum(clicks) FROM clicks_15m WHERE ${uuid}) AS rollup,
           (SELECT sum(clicks) FROM clicks_1d_by WHERE ${uuid} AND dimension = 'device') AS by_device
    FORMAT JSONEachRow`;
  const parameters = new URLSearchParams({ query, param_link: decodeId("link", id) ?? "" });
  const response = await fetch(`${stack.info().clickhouse_url}/?${parameters.toString()}`);
  return countsRow.parse(await response.json());
}

/** Publishes everything in the stream again, as when JetStream has forgotten it, and waits until it is acknowledged. */
async function sendAgain(stack: Stack): Promise<void> {
  const nats = await connect(natsLogin(stack.info().nats_url));
  const { streams, consumers } = await nats.jetstreamManager();
  const { state } = await streams.info(CLICKS_STREAM);
  for (let seq = state.first_seq; seq <= state.last_seq; seq++) {
    const { data } = await streams.getMessage(CLICKS_STREAM, { seq });
    await nats.jetstream().publish(CLICKS_SUBJECT, data);
  }
  await eventually(async () => {
    const { num_pending, num_ack_pending } = await consumers.info(CLICKS_STREAM, CLICKS_WORKER);
    if (num_pending + num_ack_pending > 0) throw new Error("Segments are not acknowledged.");
  }, STUCK_MS);
  await nats.close();
}

/** Checks every rollup of all links. */
async function expectRollupsEqual(stack: Stack): Promise<void> {
  const clickhouse = createClient({
    url: stack.info().clickhouse_url,
    use_multipart_params_auto: true,
  });
  const now = Math.ceil(Date.now() / 1_000);
  const range = { from: now - CHECKED_SECONDS, to: now };
  const differences = await findDifferences(clickhouse, range, "touched");
  await clickhouse.close();
  if (differences.length > 0) throw new Error(`Rollups differ: ${JSON.stringify(differences)}`);
}

/** Checks that the stream contains no segment twice, and that no segment was dead-lettered. */
async function expectNoDuplicates(stack: Stack): Promise<void> {
  const nats = await connect(natsLogin(stack.info().nats_url));
  const { streams } = await nats.jetstreamManager();
  const { state } = await streams.info(CLICKS_STREAM);
  const seen = new Set<string>();
  for (let seq = state.first_seq; seq <= state.last_seq; seq++) {
    const { data } = await streams.getMessage(CLICKS_STREAM, { seq });
    const segment = decodeSegment(Buffer.from(data));
    const id = segment === undefined ? "an unreadable segment" : formatSegmentId(segment);
    if (seen.has(id)) throw new Error(`The stream contains ${id} twice.`);
    seen.add(id);
  }
  const dead = await streams.info(DEAD_LETTERS_STREAM);
  if (dead.state.messages > 0)
    throw new Error(`${dead.state.messages} segments were dead-lettered.`);
  await nats.close();
}
