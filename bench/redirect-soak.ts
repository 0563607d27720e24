/**
 * `bun run bench:redirect-soak [REQUESTS]`: ten million requests, hits, misses and passwords, while
 * links change; checks that memory stays constant, and that the redirector's counters match what
 * clients received.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { encodeLinkRecord } from "../shared/contracts/link-record.ts";
import { newUuid } from "../shared/ids.ts";
import { startNats } from "../test/harness/nats.ts";
import { residentBytes } from "../test/harness/process-usage.ts";
import { scrape } from "../test/harness/prometheus.ts";
import { atLeast, atMost, publish, round } from "../test/harness/report.ts";
import { BenchLog } from "./redirect/bench-log.ts";
import { generateLinks, publishLinks, toLinkRecord, warmCache } from "./redirect/links.ts";
import { firstAndLastThird, redirectorOf, withServer, wrk } from "./redirect/server.ts";

const [REQUESTS = 10_000_000] = process.argv.slice(2).map(Number);
const LINKS = 100_000;
const CHANGES_PER_SECOND = 200;
const ROUND_SECONDS = 10;
const ROUNDS_MAX = 60;
const CONNECTIONS = 64;
const PORT = 18_430;
const METRICS_PORT = 18_431;
const METRICS_URL = `http://127.0.0.1:${METRICS_PORT}`;
const MIB = 1024 ** 2;

const dir = mkdtempSync(join(tmpdir(), "shorthop-bench-"));
const links = generateLinks(LINKS);
await using nats = await startNats();
const natsUrl = nats.url;
await publishLinks(natsUrl, links);
await using log = (await BenchLog.open(natsUrl)).keepAlive();
const secret = { alias: "secret", destination: "https://example.com/secret" };
const password_hash = await Bun.password.hash("a password");
await log.publish([encodeLinkRecord({ ...toLinkRecord(secret, newUuid()), password_hash })]);

const rows: Record<string, string | number>[] = [];
let received = 0;
let failed = 0;
let counted = 0;
let runs = 0;
const memory: number[] = [];

await withServer(
  redirectorOf(natsUrl, PORT, join(dir, "journal"), {
    REDIRECTOR_METRICS_PORT: String(METRICS_PORT),
    TRUSTED_PROXIES: "127.0.0.1",
  }),
  async (pid) => {
    await warmCache(PORT, links);
    const before = await countResponses();
    const numbers = [LINKS, CHANGES_PER_SECOND * 3_600, CHANGES_PER_SECOND].map(String);
    const changing = Bun.spawn(
      ["nice", "-n", "19", process.execPath, "bench/redirect/change-links.ts", ...numbers],
      { env: { ...process.env, NATS_URL: natsUrl }, stdout: "ignore", stderr: "inherit" },
    );
    for (; received < REQUESTS && runs < ROUNDS_MAX; runs++) {
      const [requests = 0, errors = 0] = await wrk("mixed.lua", `http://127.0.0.1:${PORT}`, {
        seconds: ROUND_SECONDS,
        connections: CONNECTIONS,
        args: [String(LINKS), String(runs)],
      });
      received += requests;
      failed += errors;
      memory.push(residentBytes(pid));
      rows.push({
        requests: received,
        "MiB resident": round(residentBytes(pid) / MIB),
        "requests/s": Math.round(requests / ROUND_SECONDS),
      });
    }
    changing.kill();
    await changing.exited;
    counted = (await countResponses()) - before;
  },
);

// Responses in flight at the end of a run were counted, but not received.
const unreceived = counted - received;
const [early, late] = firstAndLastThird(memory);
publish({
  name: "redirect-soak",

  rows,
  targets: [
    atLeast("requests", received, REQUESTS),
    atMost("failed requests", failed, 0),
    {
      name: "responses counted but not received, in flight at the end of a run",
      value: unreceived,
      target: `0 to ${runs * CONNECTIONS}`,
      met: unreceived >= 0 && unreceived <= runs * CONNECTIONS,
    },
    atMost("memory of the last third : of the first", late / early, 1.05),
  ],
});
rmSync(dir, { recursive: true, force: true });

async function countResponses(): Promise<number> {
  const metrics = await scrape(METRICS_URL);
  return [...metrics]
    .filter(([name]) => name.startsWith("shorthop_redirector_responses_total"))
    .reduce((sum, [, count]) => sum + count, 0);
}
