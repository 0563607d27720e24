/**
 * `bun run bench:redirect-memory`: what a link costs in memory, whether the bound on it holds while
 * somebody asks for five million aliases that do not exist, and what idle connections cost.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { startStack } from "../test/harness/stack.ts";
import { makeLinks, publishLinks, redirectorEnv } from "./redirect/links.ts";
import { residentBytes, scrape, serving, wrk } from "./redirect/serving.ts";
import { median, publish, round, type Target } from "./report.ts";

const COUNTS = [100_000, 1_000_000];
const SCANNED = 5_000_000;
const SCAN_ROUND_SECONDS = 10;
const SCAN_ROUNDS_MAX = 60;
const IDLE_CONNECTIONS = 10_000;
const PORT = 18_420;
const METRICS_PORT = 18_421;
const METRICS_URL = `http://127.0.0.1:${METRICS_PORT}`;
/** Room for all of them in the first part; a bound that is reached in the second. */
const ROOMY = 2 * 1024 ** 3;
const TIGHT = 64 * 1024 ** 2;
const MIB = 1024 ** 2;

const dir = mkdtempSync(join(tmpdir(), "shorthop-bench-"));
const rows: Record<string, string | number>[] = [];
const targets: Target[] = [];

/** Time for garbage to be collected: memory is looked at when it has stopped changing. */
async function settled(pid: number): Promise<number> {
  let least = residentBytes(pid);
  for (let quiet = 0; quiet < 10; quiet++) {
    await Bun.sleep(1_000);
    const now = residentBytes(pid);
    if (now < least * 0.995) quiet = 0;
    least = Math.min(least, now);
  }
  return least;
}

function redirector(natsUrl: string, cacheBytes: number, use: (pid: number) => Promise<void>) {
  return serving(
    {
      command: [process.execPath, "redirector/main.ts"],
      env: {
        ...redirectorEnv(natsUrl, PORT, mkdtempSync(join(dir, "journal-"))),
        REDIRECTOR_METRICS_PORT: String(METRICS_PORT),
        CACHE_BYTES_MAX: String(cacheBytes),
        TRUSTED_PROXIES: "127.0.0.1",
      },
      url: `http://127.0.0.1:${PORT}/`,
    },
    use,
  );
}

async function cached(count: number): Promise<void> {
  for (;;) {
    const links = (await scrape(METRICS_URL)).get("shorthop_redirector_cached_links") ?? 0;
    if (links >= count) return;
    await Bun.sleep(500);
  }
}

for (const count of COUNTS) {
  await using stack = await startStack();
  const natsUrl = stack.info().nats_url;
  const links = makeLinks(count);
  const destinationBytes =
    links.reduce((sum, link) => sum + link.destination.length, 0) / links.length;
  await redirector(natsUrl, ROOMY, async (pid) => {
    const empty = await settled(pid);
    await publishLinks(natsUrl, links);
    await cached(count);
    const full = await settled(pid);
    const bytes = (full - empty) / count;
    const beyond = bytes - destinationBytes;
    rows.push({
      measured: `${count} links`,
      "MiB before": round(empty / MIB),
      "MiB with": round(full / MIB),
      "bytes a link": Math.round(bytes),
      "beyond its destination": Math.round(beyond),
    });
    targets.push({
      name: `bytes a link beyond its destination, ${count} links`,
      value: Math.round(beyond),
      target: "<= 600",
      met: beyond <= 600,
    });
  });
  if (count !== COUNTS[0]) continue;
  await redirector(natsUrl, TIGHT, async (pid) => {
    let asked = 0;
    const memory: number[] = [];
    for (let turn = 0; asked < SCANNED && turn < SCAN_ROUNDS_MAX; turn++) {
      const [requests = 0] = await wrk("scan.lua", `http://127.0.0.1:${PORT}`, {
        seconds: SCAN_ROUND_SECONDS,
        connections: 64,
      });
      asked += requests;
      memory.push(residentBytes(pid));
    }
    // Collections make it go up and down: thirds are compared by their medians.
    const third = Math.ceil(memory.length / 3);
    const [warm = 0, end = 0] = [memory.slice(0, third), memory.slice(-third)].map((part) =>
      median(part),
    );
    const bytes = (await scrape(METRICS_URL)).get("shorthop_redirector_cached_bytes") ?? 0;
    rows.push({
      measured: `${asked} aliases that do not exist`,
      "MiB before": round(warm / MIB),
      "MiB with": round(end / MIB),
      "cached MiB": round(bytes / MIB),
    });
    targets.push({
      name: "memory in the last third of the scan : in the first",
      value: round(end / warm),
      target: "<= 1.1",
      met: end <= 1.1 * warm,
    });
    const before = await settled(pid);
    const sockets: Socket[] = [];
    for (let i = 0; i < IDLE_CONNECTIONS; i++) {
      await new Promise<void>((resolve, reject) => {
        const socket = connect(PORT, "127.0.0.1", resolve);
        socket.once("error", reject);
        sockets.push(socket);
      });
    }
    const answer = await fetch(`http://127.0.0.1:${PORT}/robots.txt`);
    if (answer.status !== 200) throw new Error("Idle connections keep others from being answered.");
    const open = residentBytes(pid);
    for (const socket of sockets) socket.destroy();
    const after = await settled(pid);
    rows.push({
      measured: `${IDLE_CONNECTIONS} idle connections`,
      "MiB before": round(before / MIB),
      "MiB with": round(open / MIB),
      "MiB after": round(after / MIB),
      "bytes a connection": Math.round((open - before) / IDLE_CONNECTIONS),
    });
  });
}
publish({ name: "redirect-memory", versions: { bun: Bun.version }, rows, targets });
rmSync(dir, { recursive: true, force: true });
