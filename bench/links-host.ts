/**
 * `bun run bench:links-host [MILLIONS]`: a host with so many million links (10): how long a
 * redirector takes to have them from the links log and from a snapshot, how long it takes to start
 * when it has them, its memory and its disk; and how fast it takes over changes while it redirects,
 * and how long a link leads to its old destination.
 */
import { Database } from "bun:sqlite";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import * as z from "zod";

import { storeSnapshot } from "../api/links-snapshots/snapshot.ts";
import { storePath } from "../redirector/links/store-files.ts";
import { encodeLinkRecord } from "../shared/contracts/link-record.ts";
import { newUuid } from "../shared/ids.ts";
import { decodeEntry, ENTRY_BYTES_MAX, hashOf, NO_HASH } from "../shared/links-log/entries.ts";
import {
  ensureSnapshotsStream,
  listSnapshots,
  SNAPSHOTS_STREAM,
} from "../shared/links-log/snapshots.ts";
import { decodeMessage, LINK_LOG_STREAM, signEntry } from "../shared/links-log/tail.ts";
import { STORE_FORMAT } from "../shared/links-store/schema.ts";
import { encodeEntry, SIGNER } from "../test/harness/links-log.ts";
import { startNats } from "../test/harness/nats.ts";
import { residentBytes } from "../test/harness/process-usage.ts";
import {
  atLeast,
  atMost,
  median,
  publish,
  quantile,
  round,
  type Target,
} from "../test/harness/report.ts";
import {
  CACHE_BYTES,
  diskBytes,
  PORT,
  run,
  secondsSince,
  startRedirector,
  stateOf,
  storeFolder,
  waitUntil,
} from "./links-host/host.ts";
import { BenchLog } from "./redirect/bench-log.ts";
import { generateLinks, publishLinks, toLinkRecord } from "./redirect/links.ts";

const MILLION = 1_000_000;
const MIB = 1024 ** 2;
const [millions = 10] = process.argv.slice(2).map(Number);
const COUNT = millions * MILLION;

/** Links that are made at once. */
const PART = Math.min(COUNT, 100_000);

/** Redirects per second, to so many links, while others change at this rate. */
const REDIRECTS = 10_000;
const REQUESTED = Math.min(COUNT, 100_000);
const CHANGES = 30_000;
const CHANGING_SECONDS = 20;

/** A link changes so often beside these, and is followed until it leads to its new destination. */
const PROBES = 100;
const PROBE_PAUSE_MS = 150;
const PROBE = "probe";

/** What an entry has besides its states, generously. */
const HEADER_BYTES = 512;

/** Signatures that are made, and verified. */
const SIGNATURES = 2_000;

const dir = mkdtempSync(join(process.env["BENCH_DIR"] ?? tmpdir(), "shorthop-bench-"));
const rows: Record<string, string | number>[] = [];
const targets: Target[] = [];

await using nats = await startNats();
await using connection = await openConnection();
const manager = await connection.jetstreamManager();
await using log = await BenchLog.open(nats.url);
try {
  measureSignatures();
  await fillTail();
  log.keepAlive();
  const first = newJournal();
  await measureStart("filled from the links log", first, 180);
  await measureStart("started again", first, 3);
  await measureSnapshot(first);
  await measureChanges(first);
  await measureCatchingUp(first);
} finally {
  rmSync(dir, { recursive: true, force: true });
}
publish({ name: "links-host", rows, targets });

async function openConnection() {
  const opened = await nats.connect();
  return Object.assign(opened, { [Symbol.asyncDispose]: () => opened.close() });
}

/** What a signature costs a publisher and each host, for the largest entry with several states. */
function measureSignatures(): void {
  const link = { alias: "link000001", destination: "https://shop.example.com/campaign/1" };
  const state = encodeLinkRecord(toLinkRecord(link, newUuid()));
  const header = { database: newUuid(), term: 1, position: 1, previous: NO_HASH };
  const count = Math.floor((ENTRY_BYTES_MAX - HEADER_BYTES) / (state.length + 1));
  const states = Array<Uint8Array>(count).fill(state);
  const bytes = encodeEntry(header, states);
  if (decodeEntry(bytes) === undefined) throw new Error("The entry is malformed.");
  const entry = { ...header, hash: hashOf(bytes) };
  const sign = () => signEntry(SIGNER, entry, entry);
  // Each with another head, as what was verified last is remembered.
  const signed = Array.from({ length: SIGNATURES }, (_, i) =>
    signEntry(SIGNER, entry, { ...entry, position: i + 2 }),
  );
  const verifyMs = measureCpu((i) => decodeMessage(SIGNER, bytes, signed[i]));
  const decodeMs = measureCpu(() => decodeEntry(bytes));
  const verifyUs = round((verifyMs - decodeMs) * 1_000);
  rows.push({
    measured: `entry of ${bytes.length} bytes signed, and verified`,
    "CPU of signing µs": round(measureCpu(sign) * 1_000),
    "CPU of verifying µs": verifyUs,
    "of decoding it µs": round(decodeMs * 1_000),
  });
  targets.push(atMost("CPU of verifying an entry, µs", verifyUs, 150));
}

/** CPU milliseconds of a call. */
function measureCpu(call: (i: number) => unknown): number {
  for (let i = 0; i < SIGNATURES; i++) call(i);
  const before = process.cpuUsage();
  for (let i = 0; i < SIGNATURES; i++) call(i);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000 / SIGNATURES;
}

async function fillTail(): Promise<void> {
  const startedAt = performance.now();
  for (let from = 0; from < COUNT; from += PART)
    await publishLinks(nats.url, generateLinks(PART, from));
  const { state } = await manager.streams.info(LINK_LOG_STREAM);
  rows.push({
    measured: "published",
    links: COUNT,
    s: secondsSince(startedAt),
    "disk MiB": round(state.bytes / MIB),
  });
}

/** Starts a redirector and waits until it is ready, with all links. */
async function measureStart(name: string, journal: string, targetSeconds: number): Promise<void> {
  const startedAt = performance.now();
  await using redirector = await startRedirector(nats.url, journal);
  const seconds = secondsSince(startedAt);
  const { links } = stateOf(journal);
  if (links !== COUNT) throw new Error(`The host has ${links} links.`);
  const disk = diskBytes(journal);
  rows.push({
    measured: name,
    links: COUNT,
    s: seconds,
    "links/s": Math.round(COUNT / seconds),
    "RSS MiB": round(residentBytes(redirector.pid) / MIB),
    "disk MiB": round(disk / MIB),
    "bytes/link": Math.round(disk / COUNT),
  });
  targets.push(atMost(`${name}: s until ready`, seconds, targetSeconds));
}

/** Stores a host's links as a snapshot, and starts a host that has none from it. */
async function measureSnapshot(journal: string): Promise<void> {
  await ensureSnapshotsStream(manager, 1);
  const copy = join(dir, "snapshot.sqlite");
  const startedAt = performance.now();
  const db = new Database(storePath(storeFolder(journal)), { readonly: true });
  db.run("VACUUM INTO ?", [copy]);
  db.close();
  const { database = "", head, sequence, links } = stateOf(journal);
  const contents = { format: STORE_FORMAT, database, start: head, end: head, links };
  await storeSnapshot(connection.jetstream(), SIGNER, copy, contents);
  rmSync(copy);
  const { state } = await manager.streams.info(SNAPSHOTS_STREAM);
  const bytesPerLink = round(state.bytes / COUNT);
  rows.push({
    measured: "snapshot made of the store, and stored",
    links: COUNT,
    s: secondsSince(startedAt),
    "disk MiB": round(state.bytes / MIB),
    "bytes/link": bytesPerLink,
  });
  // Two snapshots are kept.
  targets.push(atMost("bytes a link in NATS, of two snapshots", 2 * bytesPerLink, 150));
  // A host without links would read them from the tail, which the log has from its start here.
  await manager.streams.purge(LINK_LOG_STREAM, { seq: sequence });
  if ((await listSnapshots(manager, SIGNER)).length !== 1) throw new Error("There is no snapshot.");
  await measureStart("filled from a snapshot", newJournal(), (4 * COUNT) / MILLION);
}

async function measureChanges(journal: string): Promise<void> {
  await using redirector = await startRedirector(nats.url, journal);
  const startedAt = performance.now();
  const count = CHANGES * CHANGING_SECONDS;
  const changing = changeLinks(count);
  const load = follow();
  const staleness = await probe();
  await changing;
  const { completed, p99, closed } = await load;
  await waitUntilRead(journal);
  const perSecond = Math.round(count / secondsSince(startedAt));
  const rss = residentBytes(redirector.pid) / MIB;
  const p99Staleness = round(quantile(staleness, 0.99));
  rows.push({
    measured: `changes beside ${completed / CHANGING_SECONDS} redirects/s`,
    links: count,
    "links/s": perSecond,
    "RSS MiB": round(rss),
    "redirect p99 ms": round(p99),
    "connections closed": closed,
    "outdated p50 ms": round(median(staleness)),
    "outdated p99 ms": p99Staleness,
  });
  targets.push(
    atLeast("changes/s", perSecond, 30_000),
    atMost("outdated p99 ms", p99Staleness, 1_000),
    atMost(`RSS MiB, with a cache of ${CACHE_BYTES / MIB}`, rss, CACHE_BYTES / MIB + 150),
  );
}

/**
 * How fast a host that was away takes over what changed, while it redirects: without the program
 * that publishes, and NATS with it, which have hosts of their own in production.
 */
async function measureCatchingUp(journal: string): Promise<void> {
  await using redirector = await startRedirector(nats.url, journal);
  const count = CHANGES * CHANGING_SECONDS;
  process.kill(redirector.pid, "SIGSTOP");
  await changeLinks(count);
  process.kill(redirector.pid, "SIGCONT");
  const startedAt = performance.now();
  const load = follow();
  await waitUntilRead(journal);
  const perSecond = Math.round(count / secondsSince(startedAt));
  const { completed, p99, closed } = await load;
  rows.push({
    measured: `catching up beside ${completed / CHANGING_SECONDS} redirects/s`,
    links: count,
    "links/s": perSecond,
    "redirect p99 ms": round(p99),
    "connections closed": closed,
  });
  targets.push(atLeast("changes/s, catching up", perSecond, 30_000));
}

/** Publishes so many changes of links. */
function changeLinks(count: number): Promise<string> {
  const args = [Math.min(COUNT, MILLION), count, CHANGES];
  return run(["bench/redirect/change-links.ts", ...args], { NATS_URL: nats.url });
}

/** Waits until a host has what the tail has now. */
async function waitUntilRead(journal: string): Promise<void> {
  const { state } = await manager.streams.info(LINK_LOG_STREAM);
  await waitUntil(() => Promise.resolve(stateOf(journal).sequence >= state.last_seq));
}

/**
 * Follows links at a steady rate over connections that stay; returns how many redirects came, the
 * 99th percentile of their times in ms, and how many connections the host closed, as it does where
 * requests on one wait for too long: what would have come on these is not counted.
 */
async function follow(): Promise<{ completed: number; p99: number; closed: number }> {
  const args = [PORT, REDIRECTS, CHANGING_SECONDS, REQUESTED];
  const printed = await run(["bench/redirect/open-loop.ts", ...args]);
  const numbers = { completed: z.number(), p99: z.number(), closed: z.number() };
  return z.object(numbers).parse(JSON.parse(printed));
}

/**
 * Changes a link again and again; returns how long it led elsewhere after each acknowledgement,
 * in ms.
 */
async function probe(): Promise<number[]> {
  const account = newUuid();
  const times: number[] = [];
  for (let i = 1; i <= PROBES; i++) {
    const destination = `https://example.com/${i}`;
    await log.publish([encodeLinkRecord(toLinkRecord({ alias: PROBE, destination }, account))]);
    const acknowledgedAt = performance.now();
    await waitUntil(async () => {
      const response = await fetch(`http://127.0.0.1:${PORT}/${PROBE}`, { redirect: "manual" });
      return response.headers.get("location") === destination;
    }, 1);
    times.push(performance.now() - acknowledgedAt);
    await Bun.sleep(PROBE_PAUSE_MS);
  }
  return times;
}

function newJournal(): string {
  return mkdtempSync(join(dir, "journal-"));
}
