/** Floods of connections from many addresses, each kind for a while. */
import { join } from "node:path";

import { PROJECT_DIR } from "../../harness/stack.ts";
import type { FloodVisitors } from "../loads/flood-visitors.ts";
import type { Fault } from "../parts.ts";
import type { FloodedRedirector } from "../topologies/flooded-redirector.ts";
import type { AttackReport, AttackTask } from "./flood-attacker.ts";

/** Connections that the redirector of the short form accepts. */
export const LIMIT_SHORT = 500;

type Size = { connections: number; seconds: number };

/** A process may open 1,024 files or more; each attacker opens at most this many connections. */
const PER_ATTACKER_MAX = 16_000;

/** Far from the addresses of the attacker before. */
const ADDRESSES_APART = 250_000_000;

const flood = (
  name: string,
  kind: AttackTask["kind"],
  sizes: { short: Size; long: Size },
): Fault<FloodedRedirector, FloodVisitors> => ({
  name,
  async inject({ topology, settings }) {
    const { connections, seconds } = settings.long ? sizes.long : sizes.short;
    const port = Number(new URL(topology.redirector.url).port);
    // Two of the highest rate: a single process does not reach it.
    const count = Math.max(kind === "new" ? 2 : 1, Math.ceil(connections / PER_ATTACKER_MAX));
    const each = Math.ceil(connections / count);
    const attackers = Array.from({ length: count }, (_, i) =>
      startAttacker({
        kind,
        port,
        connections: Math.min(PER_ATTACKER_MAX, each),
        perSecond: each,
        firstAddress: i * ADDRESSES_APART,
      }),
    );
    await Bun.sleep(seconds * 1_000);
    const reports = await Promise.all(attackers.map((stop) => stop()));
    for (const { opened, refused, seconds: took } of reports)
      settings.log(`${Math.round(opened / took)} connections opened/s, ${refused} refused`);
  },
});

/** Starts an attacker; returns a function that ends it. */
function startAttacker(task: AttackTask): () => Promise<AttackReport> {
  const program = join(PROJECT_DIR, "test/scenarios/faults/flood-attacker.ts");
  const child = Bun.spawn([process.execPath, program, JSON.stringify(task)], {
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  });
  return async () => {
    await child.stdin.end();
    const report: AttackReport = JSON.parse(await new Response(child.stdout).text());
    return report;
  };
}

const LONG_SECONDS = 30;
const SHORT_SECONDS = 5;

export const FLOODS = [
  flood("idle connections", "idle", {
    short: { connections: 2 * LIMIT_SHORT, seconds: SHORT_SECONDS },
    long: { connections: 50_000, seconds: LONG_SECONDS },
  }),
  flood("slow requests", "slow", {
    short: { connections: 200, seconds: SHORT_SECONDS },
    long: { connections: 5_000, seconds: LONG_SECONDS },
  }),
  flood("new connections", "new", {
    short: { connections: 400, seconds: SHORT_SECONDS },
    long: { connections: 20_000, seconds: LONG_SECONDS },
  }),
];
