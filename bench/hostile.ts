/**
 * `bun run bench:hostile [--seconds N] [--only TEXT] [--rate N] [--seed N]`: a legitimate client
 * follows links and reads them through the API, 40 times a second each, alone and beside each
 * attack: ten minutes each unless told otherwise. Each attack sends up to `--rate` times a second.
 * `--only` runs attacks whose name contains the text.
 */
import { parseArgs } from "node:util";

import { connect } from "nats";

import { natsLogin } from "../shared/nats.ts";
import { Dns } from "../test/harness/dns.ts";
import { atMost, publish, round } from "../test/harness/report.ts";
import { startStack } from "../test/harness/stack.ts";
import { createFixtures } from "../test/hostile/fixtures.ts";
import type { ClientReport } from "../test/hostile/legitimate-client.ts";
import { StackWatch } from "../test/hostile/watch.ts";
import { LegitimateClient } from "../test/scenarios/loads/legitimate-client.ts";
import { type Attack, listAttacks } from "./hostile/attacks.ts";

/** The client alone, before the attacks. */
const BASELINE_SECONDS = 20;
/** Between two attacks: what the last one left behind is worked off. */
const PAUSE_MS = 5_000;

/** How much longer the client may wait than alone, in milliseconds. */
const ADDED_MS_MAX = 100;

const SIDES = ["redirector", "api"] as const;

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "600" },
    only: { type: "string", default: "" },
    rate: { type: "string", default: "185" },
    seed: { type: "string", default: "1" },
  },
});
const seconds = Number(values.seconds);
const rate = Number(values.rate);

await using dns = await Dns.start();
await using stack = await startStack({ env: { DNS_SERVERS: dns.address } });
const fixtures = await createFixtures(stack);
const nats = await connect(natsLogin(stack.info().nats_url));
const attacks = await listAttacks({ stack, fixtures, nats, seed: Number(values.seed) });
const ended: string[] = [];
const watch = new StackWatch(stack, {
  onEnd: (process) => void ended.push(process),
  onStall: () => undefined,
});
const client = await LegitimateClient.start({ stack }, BASELINE_SECONDS * 1_000);
const baseline = client.alone;
console.log(
  `alone: p99 ${SIDES.map((side) => `${side} ${round(baseline[side].p99)} ms`).join(", ")}`,
);

const measured: { attack: Attack; sent: number; report: ClientReport }[] = [];
for (const attack of attacks.filter(({ name }) => name.includes(values.only))) {
  let sent = 0;
  await client.during(attack.name, async () => {
    sent = await run(attack);
  });
  const report = client.beside;
  measured.push({ attack, sent, report });
  console.log(
    `${attack.process}, ${attack.name}: ${sent} sent; p99 ${SIDES.map((side) => `${side} ${round(report[side].p99)} ms`).join(", ")}`,
  );
  await Bun.sleep(PAUSE_MS);
}
await client.stop();
await watch.stop();
await nats.close();
publish({
  name: "hostile",
  versions: { seed: values.seed },
  rows: measured.flatMap(({ attack, sent, report }) =>
    SIDES.map((side) => ({
      attack: attack.name,
      "attacked process": attack.process,
      sent,
      "client at": side,
      requests: report[side].count,
      "p99 alone, ms": round(baseline[side].p99),
      "p99, ms": round(report[side].p99),
      failures: report.failures[side],
    })),
  ),
  targets: [
    ...SIDES.flatMap((side) => [
      atMost(
        `client at the ${side}: worst p99 above that alone, ms`,
        Math.max(...measured.map(({ report }) => report[side].p99 - baseline[side].p99)),
        ADDED_MS_MAX,
      ),
      atMost(
        `client at the ${side}: failures`,
        measured.reduce((sum, { report }) => sum + report.failures[side], 0),
        0,
      ),
    ]),
    atMost("processes that ended", ended.length, 0),
  ],
});

/** Attacks for so many seconds; returns how often it has sent. */
async function run({ lanes, send }: Attack): Promise<number> {
  const startedMs = performance.now();
  const elapsed = (): number => (performance.now() - startedMs) / 1_000;
  let next = 0;
  async function lane(): Promise<void> {
    while (elapsed() < seconds) {
      const i = next++;
      const early = i / rate - elapsed();
      if (early > 0) await Bun.sleep(early * 1_000);
      // A refused connection or call is the defence at work.
      await send(i).catch(() => undefined);
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane));
  return next;
}
