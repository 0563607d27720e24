/**
 * `bun run test:cluster [--rounds N] [--seed N] [--redirects N] [--writes N] [--later]`: kills
 * servers and processes of a whole fleet at random while it is used, and prints how long each fault
 * interrupted what. `--later` takes the nats-server of the next Debian.
 */
import { parseArgs } from "node:util";

import { LINKS_BEFORE } from "../harness/bulk-links.ts";
import { laterNatsServer, ownNatsServer } from "../harness/nats-versions.ts";
import { runCluster } from "./run.ts";

/**
 * The oldest target that a redirect may lead to, beyond an election: what the dead leader
 * acknowledged last is visible on the others only when there is a new one.
 */
const STALENESS_MS_MAX = 3_000;

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "20" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    redirects: { type: "string", default: "500" },
    writes: { type: "string", default: "5" },
    later: { type: "boolean", default: false },
  },
});
const program = values.later ? await laterNatsServer() : await ownNatsServer();
if (program === undefined) process.exit(1);
console.log(`nats-server ${program.version.join(".")}, --seed ${values.seed}`);
const report = await runCluster({
  program,
  seed: Number(values.seed),
  rounds: Number(values.rounds),
  links: LINKS_BEFORE,
  quietMs: 1_000,
  redirectsPerSecond: Number(values.redirects),
  writesPerSecond: Number(values.writes),
  log: console.log,
});
const { rounds, failures, missing, outdated, redirected, unknown, stored, delivered } = report;
for (const name of ["redirectGapMs", "writeGapMs", "publishGapMs", "stalenessMs"] as const) {
  const sorted = rounds.map((round) => Math.round(round[name])).toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)];
  console.log(`${name}: median ${at(0.5)}, 90 % ${at(0.9)}, longest ${at(1)}`);
}
console.log(
  `${redirected} redirected, ${unknown} unknown, ${stored} stored, ${delivered} changes delivered`,
);
const problems = [
  ...new Set(failures),
  ...missing.map((alias) => `${alias} is missing`),
  ...outdated,
  ...(stored < redirected || stored > redirected + unknown ? ["clicks are not exact"] : []),
  ...rounds
    .filter(({ stalenessMs, publishGapMs }) => stalenessMs > publishGapMs + STALENESS_MS_MAX)
    .map(({ fault, stalenessMs }) => `${fault}: a target was outdated by ${stalenessMs} ms`),
];
for (const problem of problems) console.error(problem);
process.exit(problems.length === 0 ? 0 : 1);
