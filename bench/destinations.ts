/**
 * `bun run bench:destinations [--hosts N]`: what lists of hosts cost that no link may lead to, with
 * a million hosts: memory, a check of a destination, and how long reading a list delays requests.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { HostLists } from "../api/links/host-lists.ts";
import { processLog } from "../shared/log.ts";
import { atMost, median, publish, round } from "../test/harness/report.ts";

const { values } = parseArgs({ options: { hosts: { type: "string", default: "1000000" } } });
const HOSTS = Number(values.hosts);
const CHECKS = 100_000;
const ROUNDS = 5;

const dir = mkdtempSync(join(tmpdir(), "bench-destinations-"));
const path = join(dir, "hosts");
const writer = Bun.file(path).writer();
for (let i = 0; i < HOSTS; i++) void writer.write(`0.0.0.0 host-${i}.example-${i % 7_919}.com\n`);
await writer.end();

const lists = new HostLists(
  { DESTINATION_LISTS: [path], DESTINATION_LISTS_EXCEPT: [] },
  processLog("bench", "silent"),
);
Bun.gc(true);
const before = process.memoryUsage();
let [longestMs, last] = [0, performance.now()];
const watch = setInterval(() => {
  const now = performance.now();
  longestMs = Math.max(longestMs, now - last);
  last = now;
}, 1);
const began = performance.now();
await lists.refresh();
const readMs = performance.now() - began;
clearInterval(watch);
Bun.gc(true);
const after = process.memoryUsage();

const listed = checksOf(
  (i) => `host-${(i * 31) % HOSTS}.example-${((i * 31) % HOSTS) % 7_919}.com`,
);
const unlisted = checksOf((i) => `www.shop-${i}.example.org`);
rmSync(dir, { recursive: true });

const bytes = (after.rss - before.rss) / HOSTS;
const CHECK_US_MAX = 50;
const targets = [atMost("check of a destination (µs)", Math.max(listed, unlisted), CHECK_US_MAX)];
publish({
  name: "destinations",

  rows: [
    {
      hosts: HOSTS,
      "bytes of a host": round(bytes),
      "listed (µs)": round(listed),
      "not listed (µs)": round(unlisted),
      "read (ms)": Math.round(readMs),
      "longest stall (ms)": round(longestMs),
    },
  ],
  targets,
});

/** Microseconds of a check. */
function checksOf(hostOf: (i: number) => string): number {
  const hosts = Array.from({ length: CHECKS }, (_, i) => hostOf(i));
  return median(
    Array.from({ length: ROUNDS }, () => {
      const start = performance.now();
      for (const host of hosts) lists.find(host);
      return ((performance.now() - start) * 1_000) / CHECKS;
    }),
  );
}
