/**
 * `bun run bench:links-store [millions …]`: the links store, and LMDB in its place, with so many
 * million links (1 and 10): how fast it is filled and changed, how long it takes to open, how long
 * reads take with warm and with cold pages, its size, and memory.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import packages from "../package.json" with { type: "json" };
import { publish, round, type Target } from "../test/harness/report.ts";
import { type Candidate, CANDIDATES } from "./links-store/candidates.ts";
import { createLinks } from "./links-store/links.ts";

const MILLION = 1_000_000;

/** Links of a transaction, as the follower writes them. */
const TRANSACTION = 1_000;

/** Links that are changed once the store is full. */
const CHANGES = 200_000;

const READS = 200_000;
const COLD_READS = 20_000;

const rows: Record<string, string | number>[] = [];
const targets: Target[] = [];

const sizes = process.argv.slice(2).map(Number);
for (const millions of sizes.length === 0 ? [1, 10] : sizes)
  for (const candidate of CANDIDATES) await measure(candidate, millions * MILLION);
publish({
  name: "links-store",
  versions: { bun: Bun.version, lmdb: packages.devDependencies.lmdb },
  rows,
  targets,
});

async function measure(candidate: Candidate, count: number): Promise<void> {
  const dir = mkdtempSync(join(process.env["BENCH_DIR"] ?? tmpdir(), "shorthop-bench-"));
  try {
    const links = createLinks(count);
    const filled = await fill(candidate, dir, links, count, 1);
    const changed = await fill(candidate, dir, links, CHANGES, 2);
    const bytes = candidate.bytes(dir) / count;
    const opening = performance.now();
    const reader = candidate.openReader(dir);
    reader.find(links.aliasOf(0));
    const openMs = performance.now() - opening;
    const before = process.memoryUsage.rss();
    const warm = read(READS, (i) => reader.find(links.aliasOf((i * 7_919) % count)));
    const absent = read(READS, (i) => reader.find(`none-${i}`));
    const dropped = dropPageCache();
    const cold = read(COLD_READS, (i) => reader.find(links.aliasOf((i * 104_729) % count)));
    const rssMiB = (process.memoryUsage.rss() - before) / 1024 ** 2;
    await reader.close();
    rows.push({
      store: candidate.name,
      links: count,
      "filled/s": Math.round(filled),
      "changed/s": Math.round(changed),
      "bytes/link": Math.round(bytes),
      "open ms": round(openMs),
      "warm p50 µs": round(warm.p50),
      "warm p99 µs": round(warm.p99),
      "absent p50 µs": round(absent.p50),
      "cold p50 µs": dropped ? round(cold.p50) : "-",
      "cold p99 µs": dropped ? round(cold.p99) : "-",
      "cold worst ms": dropped ? round(cold.worst / 1_000) : "-",
      "RSS of reads MiB": round(rssMiB),
    });
    const name = `${candidate.name}, ${count / MILLION} million links`;
    targets.push(
      { name: `${name}: bytes a link`, value: bytes, target: "<= 250", met: bytes <= 250 },
      { name: `${name}: changes/s`, value: changed, target: ">= 30000", met: changed >= 30_000 },
      { name: `${name}: warm read µs`, value: warm.p50, target: "<= 15", met: warm.p50 <= 15 },
      { name: `${name}: open ms`, value: openMs, target: "<= 3000", met: openMs <= 3_000 },
    );
  } finally {
    rmSync(dir, { recursive: true });
  }
}

/** Writes the first links in their random order; returns links per second. */
async function fill(
  candidate: Candidate,
  dir: string,
  links: ReturnType<typeof createLinks>,
  count: number,
  version: number,
): Promise<number> {
  const startedAt = performance.now();
  await using store = candidate.openWriter(dir);
  for (let start = 0; start < count; start += TRANSACTION) {
    const changes = Array.from({ length: Math.min(TRANSACTION, count - start) }, (_, i) =>
      links.changeOf(start + i, version),
    );
    store.write(changes, start);
  }
  return (count / (performance.now() - startedAt)) * 1_000;
}

/** Times single reads, in microseconds. */
function read(
  count: number,
  readOne: (i: number) => unknown,
): { p50: number; p99: number; worst: number } {
  const times = new Float64Array(count);
  for (let i = 0; i < count; i++) {
    const startedAt = Bun.nanoseconds();
    readOne(i);
    times[i] = (Bun.nanoseconds() - startedAt) / 1_000;
  }
  times.sort();
  const at = (share: number): number => times[Math.floor((count - 1) * share)] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99), worst: at(1) };
}

/** Has the system forget what it has read of files; false where that is not allowed. */
function dropPageCache(): boolean {
  Bun.spawnSync(["sync"]);
  try {
    writeFileSync("/proc/sys/vm/drop_caches", "1");
    return true;
  } catch {
    return false;
  }
}
