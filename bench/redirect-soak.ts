/**
 * `bun run bench:redirect-soak [REQUESTS]`: ten million requests, hits, misses and passwords, while links
 * change; whether memory stays where it is, and whether the redirector's counts are what clients saw.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { connect } from "nats";

import { encodeLinkRecord } from "../shared/contracts/link-record.ts";
import { linkSubject } from "../shared/contracts/streams.ts";
import { newUuid } from "../shared/ids.ts";
import { startStack } from "../test/harness/stack.ts";
import { makeLinks, publishLinks, recordOf, redirectorEnv, warm } from "./redirect/links.ts";
import { residentBytes, scrape, serving, wrk } from "./redirect/serving.ts";
import { median, publish, round } from "./report.ts";

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
const links = makeLinks(LINKS);
await using stack = await startStack();
const idle = [stack.info().pids.worker, stack.info().pids.clickhouse].filter((pid) => pid !== null);
for (const pid of idle) process.kill(pid, "SIGSTOP");
const natsUrl = stack.info().nats_url;
await publishLinks(natsUrl, links);
const secret = { alias: "secret", destination: "https://example.com/secret" };
const nats = await connect({ servers: natsUrl });
nats.publish(
  linkSubject("", secret.alias),
  encodeLinkRecord({
    ...recordOf(secret, 1, newUuid()),
    password_hash: await Bun.password.hash("a password"),
  }),
);
await nats.drain();

const rows: Record<string, string | number>[] = [];
let seen = 0;
let failed = 0;
let answered = 0;
let runs = 0;
const memory: number[] = [];

await serving(
  {
    command: [process.execPath, "redirector/main.ts"],
    env: {
      ...redirectorEnv(natsUrl, PORT, join(dir, "journal")),
      REDIRECTOR_METRICS_PORT: String(METRICS_PORT),
      TRUSTED_PROXIES: "127.0.0.1",
    },
    url: `http://127.0.0.1:${PORT}/robots.txt`,
  },
  async (pid) => {
    await warm(PORT, links);
    const before = await countAnswers();
    const numbers = [LINKS, LINKS, CHANGES_PER_SECOND * 3_600, CHANGES_PER_SECOND].map(String);
    const changing = Bun.spawn(
      ["nice", "-n", "19", process.execPath, "bench/redirect/change-links.ts", natsUrl, ...numbers],
      { stdout: "ignore", stderr: "inherit" },
    );
    for (; seen < REQUESTS && runs < ROUNDS_MAX; runs++) {
      const [requests = 0, errors = 0] = await wrk("mixed.lua", `http://127.0.0.1:${PORT}`, {
        seconds: ROUND_SECONDS,
        connections: CONNECTIONS,
        args: [String(LINKS), String(runs)],
      });
      seen += requests;
      failed += errors;
      memory.push(residentBytes(pid));
      rows.push({
        requests: seen,
        "MiB resident": round(residentBytes(pid) / MIB),
        "per second": Math.round(requests / ROUND_SECONDS),
      });
    }
    changing.kill();
    await changing.exited;
    answered = (await countAnswers()) - before;
  },
);
for (const pid of idle) process.kill(pid, "SIGCONT");

// What was on its way when a run of the load ended was answered, and not seen.
const unseen = answered - seen;
// Collections make it go up and down: thirds are compared by their medians.
const third = Math.ceil(memory.length / 3);
const [early, late] = [memory.slice(0, third), memory.slice(-third)].map((part) => median(part));
const growth = (late ?? Number.NaN) / (early ?? Number.NaN);
publish({
  name: "redirect-soak",
  versions: { bun: Bun.version },
  rows,
  targets: [
    { name: "requests", value: seen, target: `>= ${REQUESTS}`, met: seen >= REQUESTS },
    { name: "failed requests", value: failed, target: "0", met: failed === 0 },
    {
      name: "answers counted but not seen, on their way at the end of a run",
      value: unseen,
      target: `0 to ${runs * CONNECTIONS}`,
      met: unseen >= 0 && unseen <= runs * CONNECTIONS,
    },
    {
      name: "memory of the last third : of the first",
      value: round(growth),
      target: "<= 1.05",
      met: growth <= 1.05,
    },
  ],
});
rmSync(dir, { recursive: true, force: true });

async function countAnswers(): Promise<number> {
  const figures = await scrape(METRICS_URL);
  return [...figures]
    .filter(([name]) => name.startsWith("shorthop_redirector_answers_total"))
    .reduce((sum, [, count]) => sum + count, 0);
}
