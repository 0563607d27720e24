/**
 * `bun run bench:links-store [millions …]`: the links store with so many million links (1), and
 * with each further number of them: how fast it is filled and changed, how long it takes to open,
 * how long reads take with warm and with cold pages, its size, and memory.
 */
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { storePath } from "../redirector/links/store-files.ts";
import { LogStore, StoreReader } from "../redirector/links/store.ts";
import { EMPTY_LOG, toChange } from "../shared/links-store/schema.ts";
import { activeLink } from "../test/harness/links-log.ts";
import { atLeast, atMost, publish, quantile, round, type Target } from "../test/harness/report.ts";

const MILLION = 1_000_000;

/** Links of a transaction, as the follower writes them. */
const TRANSACTION = 1_000;

/** Links that are changed once the store is full. */
const CHANGES = 200_000;

const READS = 200_000;
const COLD_READS = 20_000;

const rows: Record<string, string | number>[] = [];
const targets: Target[] = [];

const [first = 1, ...further] = process.argv.slice(2).map(Number);
for (const millions of [first, ...further]) await measure(millions * MILLION);
publish({ name: "links-store", rows, targets });

async function measure(count: number): Promise<void> {
  const dir = mkdtempSync(join(process.env["BENCH_DIR"] ?? tmpdir(), "shorthop-bench-"));
  // Random, in no order.
  const aliasOf = (i: number): string => Bun.hash(`${count} ${i}`).toString(36).slice(0, 8);

  /** Writes the first links in their random order; returns links per second. */
  function fill(links: number, version: number): number {
    const startedAt = performance.now();
    using store = new LogStore(dir);
    for (let start = 0; start < links; start += TRANSACTION) {
      const changes = Array.from({ length: Math.min(TRANSACTION, links - start) }, (_, offset) =>
        toChange({
          ...activeLink(aliasOf(start + offset), version),
          destination: `https://www.example.com/articles/${start + offset}?source=letter`,
        }),
      );
      store.write(changes, { ...EMPTY_LOG, sequence: start });
    }
    return (links / (performance.now() - startedAt)) * 1_000;
  }

  try {
    const filled = fill(count, 1);
    const changed = fill(CHANGES, 2);
    const bytes = statSync(storePath(dir)).size / count;
    const opening = performance.now();
    const reader = new StoreReader(dir);
    reader.find("", aliasOf(0));
    const openMs = performance.now() - opening;
    const before = process.memoryUsage.rss();
    const warm = read(READS, (i) => reader.find("", aliasOf((i * 7_919) % count)));
    const absent = read(READS, (i) => reader.find("", `none-${i}`));
    const dropped = dropPageCache();
    const cold = read(COLD_READS, (i) => reader.find("", aliasOf((i * 104_729) % count)));
    const rssMiB = (process.memoryUsage.rss() - before) / 1024 ** 2;
    reader.close();
    rows.push({
      links: count,
      "filled/s": Math.round(filled),
      "changed/s": Math.round(changed),
      "bytes/link": Math.round(bytes),
      "open ms": round(openMs),
      "warm p50 µs": round(quantile(warm, 0.5)),
      "warm p99 µs": round(quantile(warm, 0.99)),
      "absent p50 µs": round(quantile(absent, 0.5)),
      "cold p50 µs": dropped ? round(quantile(cold, 0.5)) : "-",
      "cold p99 µs": dropped ? round(quantile(cold, 0.99)) : "-",
      "cold worst ms": dropped ? round(quantile(cold, 1) / 1_000) : "-",
      "RSS of reads MiB": round(rssMiB),
    });
    const name = `${count / MILLION} million links`;
    targets.push(
      atMost(`${name}: bytes a link`, bytes, 250),
      atLeast(`${name}: changes/s`, changed, 30_000),
      atMost(`${name}: warm read µs`, quantile(warm, 0.5), 15),
      atMost(`${name}: open ms`, openMs, 3_000),
    );
  } finally {
    rmSync(dir, { recursive: true });
  }
}

/** Times single reads, in microseconds. */
function read(count: number, readOne: (i: number) => unknown): number[] {
  return Array.from({ length: count }, (_, i) => {
    const startedAt = Bun.nanoseconds();
    readOne(i);
    return (Bun.nanoseconds() - startedAt) / 1_000;
  });
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
