/** What visitors may notice of floods. */
import { atMost, publish } from "../../harness/report.ts";
import type { FloodVisitors, Phase } from "../loads/flood-visitors.ts";
import type { Check } from "../parts.ts";
import type { FloodedRedirector } from "../topologies/flooded-redirector.ts";

/** Memory that a redirector may take: its cache's default bound, the journal's buffers and Bun. */
const MEMORY_MIB_MAX = 512;

/** Of the clicks during idle connections beyond the limit, so many may fail. */
const FAILED_SHARE_MAX = 0.1;

const failuresOf = (phases: readonly Phase[]): number =>
  phases.reduce((sum, { failures }) => sum + failures, 0);

export const floodChecks = (limit: number): readonly Check<FloodedRedirector, FloodVisitors>[] => [
  {
    name: "no visitor is kept out",
    verify({ load: { phases }, settings: { long } }) {
      const [, idle] = phases;
      if (idle === undefined) throw new Error("There was no flood.");
      // A visitor that is slower than all places are taken anew, on a machine without time for it,
      // is kept out.
      const { failures, clicks } = idle;
      if (!long && failures >= clicks * FAILED_SHARE_MAX)
        throw new Error(`${failures} of ${clicks} clicks failed during ${idle.name}`);
      const others = phases.filter((phase) => phase !== idle && !(long && phase.isFlood));
      if (failuresOf(others) > 0) throw new Error(JSON.stringify(others));
      return Promise.resolve();
    },
  },
  {
    name: "connections stay within the limit",
    verify({ load: { phases }, settings: { long } }) {
      if (long) return Promise.resolve();
      const [, idle] = phases;
      if ((idle?.evicted ?? 0) <= limit / 2) throw new Error(`${idle?.evicted} were evicted`);
      const beyond = phases.filter(({ openMax }) => openMax > limit);
      if (beyond.length > 0) throw new Error(JSON.stringify(beyond));
      return Promise.resolve();
    },
  },
  {
    name: "no click is lost",
    async verify({ load, settings: { long } }) {
      const stored = await load.countStored();
      const { redirects, phases } = load;
      // A response may come too late for its visitor.
      if (stored < redirects || stored > redirects + failuresOf(phases))
        throw new Error(`${redirects} redirects, ${stored} stored`);
      if (long) publishFlood(phases, redirects - stored);
      return `${redirects} redirects, ${stored} stored`;
    },
  },
];

/** Writes `bench/results/flood.json`. */
function publishFlood(phases: readonly Phase[], lost: number): void {
  const [before, ...others] = phases;
  const quiet = others.filter(({ isFlood }) => !isFlood);
  const memory = Math.max(...phases.map(({ memoryMiBMax }) => memoryMiBMax));
  const slowest = Math.max(...quiet.map(({ p99 }) => p99));
  publish({
    name: "flood",
    rows: phases.map(({ name, ...phase }) => ({
      phase: name,
      clicks: phase.clicks,
      failed: phase.failures,
      "p50 ms": phase.p50,
      "p99 ms": phase.p99,
      "max ms": phase.max,
      "open at most": phase.openMax,
      rejected: phase.rejected,
      evicted: phase.evicted,
      "memory MiB": phase.memoryMiBMax,
    })),
    targets: [
      atMost("failed clicks during floods", failuresOf(phases.filter((one) => one.isFlood)), 0),
      atMost("failed clicks before and after", failuresOf(phases.filter((p) => !p.isFlood)), 0),
      atMost("memory, MiB", memory, MEMORY_MIB_MAX),
      atMost("p99 after floods : before", slowest / (before?.p99 ?? 1), 2),
      atMost("redirects whose click is not stored", lost, 0),
    ],
  });
}
