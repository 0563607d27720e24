/**
 * `bun run bench:redirect-memory`: memory per cached link, whether the cache stays within its limit
 * while a client requests five million aliases that do not exist, and memory per idle connection.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { startNats } from "../test/harness/nats.ts";
import { residentBytes } from "../test/harness/process-usage.ts";
import { scrape } from "../test/harness/prometheus.ts";
import { atMost, publish, round, type Target } from "../test/harness/report.ts";
import { BenchLog } from "./redirect/bench-log.ts";
import { generateLinks, publishLinks, warmCache } from "./redirect/links.ts";
import { firstAndLastThird, redirectorOf, withServer, wrk } from "./redirect/server.ts";

const COUNTS = [100_000, 1_000_000];
const SCANNED = 5_000_000;
const SCAN_ROUND_SECONDS = 10;
const SCAN_ROUNDS_MAX = 60;
const IDLE_CONNECTIONS = 10_000;
const PORT = 18_420;
const METRICS_PORT = 18_421;
const METRICS_URL = `http://127.0.0.1:${METRICS_PORT}`;
/** A cache limit above what the first part needs, and one that the second part reaches. */
const LARGE_CACHE = 2 * 1024 ** 3;
const SMALL_CACHE = 64 * 1024 ** 2;
const MIB = 1024 ** 2;

const dir = mkdtempSync(join(tmpdir(), "shorthop-bench-"));
const rows: Record<string, string | number>[] = [];
const targets: Target[] = [];

/** Waits for garbage collection: returns resident memory once it has stopped shrinking. */
async function settledBytes(pid: number): Promise<number> {
  let least = residentBytes(pid);
  for (let quiet = 0; quiet < 10; quiet++) {
    await Bun.sleep(1_000);
    const now = residentBytes(pid);
    if (now < least * 0.995) quiet = 0;
    least = Math.min(least, now);
  }
  return least;
}

function runRedirector(natsUrl: string, cacheBytes: number, use: (pid: number) => Promise<void>) {
  const env = {
    REDIRECTOR_METRICS_PORT: String(METRICS_PORT),
    CACHE_BYTES_MAX: String(cacheBytes),
    TRUSTED_PROXIES: "127.0.0.1",
  };
  const journal = mkdtempSync(join(dir, "journal-"));
  return withServer(redirectorOf(natsUrl, PORT, journal, env), use);
}

for (const count of COUNTS) {
  await using nats = await startNats();
  const natsUrl = nats.url;
  await using _ = (await BenchLog.open(natsUrl)).keepAlive();
  const links = generateLinks(count);
  const destinationBytes =
    links.reduce((sum, link) => sum + link.destination.length, 0) / links.length;
  await runRedirector(natsUrl, LARGE_CACHE, async (pid) => {
    const empty = await settledBytes(pid);
    await publishLinks(natsUrl, links);
    await warmCache(PORT, links);
    const full = await settledBytes(pid);
    const bytes = (full - empty) / count;
    const overhead = bytes - destinationBytes;
    rows.push({
      measured: `${count} links`,
      "MiB before": round(empty / MIB),
      "MiB after": round(full / MIB),
      "bytes/link": Math.round(bytes),
      "bytes/link without destination": Math.round(overhead),
    });
    targets.push(atMost(`bytes per link without its destination, ${count} links`, overhead, 600));
  });
  if (count !== COUNTS[0]) continue;
  await runRedirector(natsUrl, SMALL_CACHE, async (pid) => {
    let sent = 0;
    const memory: number[] = [];
    for (let turn = 0; sent < SCANNED && turn < SCAN_ROUNDS_MAX; turn++) {
      const [requests = 0] = await wrk("scan.lua", `http://127.0.0.1:${PORT}`, {
        seconds: SCAN_ROUND_SECONDS,
        connections: 64,
      });
      sent += requests;
      memory.push(residentBytes(pid));
    }
    const [warm, end] = firstAndLastThird(memory);
    const bytes = (await scrape(METRICS_URL)).get("shorthop_redirector_cache_bytes") ?? 0;
    rows.push({
      measured: `${sent} aliases that do not exist`,
      "MiB before": round(warm / MIB),
      "MiB after": round(end / MIB),
      "cached MiB": round(bytes / MIB),
    });
    targets.push(atMost("memory of the last third of the scan : of the first", end / warm, 1.1));
    const before = await settledBytes(pid);
    const sockets: Socket[] = [];
    for (let i = 0; i < IDLE_CONNECTIONS; i++) {
      await new Promise<void>((resolve, reject) => {
        const socket = connect(PORT, "127.0.0.1", resolve);
        socket.once("error", reject);
        sockets.push(socket);
      });
    }
    const response = await fetch(`http://127.0.0.1:${PORT}/robots.txt`);
    if (response.status !== 200) throw new Error("Idle connections block other requests.");
    const open = residentBytes(pid);
    for (const socket of sockets) socket.destroy();
    const after = await settledBytes(pid);
    rows.push({
      measured: `${IDLE_CONNECTIONS} idle connections`,
      "MiB before": round(before / MIB),
      "MiB with connections": round(open / MIB),
      "MiB after": round(after / MIB),
      "bytes/connection": Math.round((open - before) / IDLE_CONNECTIONS),
    });
  });
}
publish({ name: "redirect-memory", rows, targets });
rmSync(dir, { recursive: true, force: true });
