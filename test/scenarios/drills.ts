/** The drills as scenarios: everything that can come back, in every state, on two hosts. */
import { canMakeDisks } from "../harness/disks.ts";
import { drillChecks } from "./checks/hosts.ts";
import { clocksOf } from "./faults/drills/clocks.ts";
import { type Case, CASES, type Condition, nameOf, type Subject } from "./faults/drills/drill.ts";
import { DRILLS_TABLE } from "./faults/drills/table.ts";
import { HostTraffic } from "./loads/host-traffic.ts";
import type { Fault, RunSettings } from "./parts.ts";
import { type AnyScenario, faultScenario } from "./scenario.ts";
import { canSetClocks } from "./topologies/clocks.ts";
import { type HostsSettings, TwoHosts } from "./topologies/two-hosts.ts";

/** How long a drill takes, and how much longer where something has to be noticed first. */
const SECONDS = 75;
const LONGER: Partial<Record<Condition, number>> = {
  "disk full": 100,
  "read-only": 100,
  "clock an hour ahead": 75,
  "clock an hour behind": 75,
  "paused for a minute": 60,
  "away longer than every retention": 60,
};

/** What a condition needs of the machine. */
const NEEDED: Partial<Record<Condition, readonly [can: () => boolean, what: string]>> = {
  "disk full": [canMakeDisks, "no disk can be made here"],
  "read-only": [canMakeDisks, "no disk can be made here"],
  "clock an hour ahead": [canSetClocks, "the Debian package faketime is not installed"],
  "clock an hour behind": [canSetClocks, "the Debian package faketime is not installed"],
};

/** What keeps the promises of a subject. */
const PATHS: Record<Subject, readonly string[]> = {
  PostgreSQL: ["api/{links-log,links-snapshots}/**", "api/postgres.ts", "shared/postgres.ts"],
  NATS: ["api/links-log/**", "redirector/journal/**", "shared/nats.ts"],
  ClickHouse: ["worker/batches/**", "worker/clickhouse.ts", "cli/machines/backup/**"],
  "links store": ["redirector/links/**", "shared/links-store/**"],
  journal: ["redirector/journal/**", "shared/contracts/click-segment.ts"],
  "GeoIP file": ["worker/geoip-update.ts", "shared/visitors/**"],
  api: ["api/{main,process}.ts", "api/links-log/**"],
  redirector: ["redirector/main.ts", "redirector/journal/**"],
  worker: ["worker/main.ts", "worker/{consumer,batches}/**"],
};

/** Links and durations of a run. */
const hostsSettings = ({ long }: RunSettings): HostsSettings => ({
  links: long ? { count: 1_000, others: 19_000 } : { count: 300, others: 300 },
  holdMs: long ? 20_000 : 3_000,
  rightMs: 30_000,
});

/** The drill of a case as a scenario; none where it is not applicable. */
function toScenarios(one: Case): AnyScenario[] {
  const { subject, condition } = one;
  const drill = DRILLS_TABLE[subject][condition];
  if (typeof drill === "string") return [];
  const clocks = clocksOf(one);
  const [can, lacking] = NEEDED[condition] ?? [];
  const inject: Fault<TwoHosts, HostTraffic>["inject"] = async ({ topology }) => {
    topology.lostClicksMax = (await drill.inject(topology)) ?? 0;
  };
  return [
    faultScenario({
      name: nameOf(one),
      seconds: SECONDS + (LONGER[condition] ?? 0),
      isLast: true,
      paths: [...PATHS[subject], "test/scenarios/faults/drills/**"],
      proves: drill.promise,
      lacks: () => (can?.() === false ? lacking : undefined),
      topology: (settings) => TwoHosts.start({ ...hostsSettings(settings), clocks }),
      load: (topology) =>
        HostTraffic.start(topology, { clicks: true, events: clocks !== undefined }),
      faults: [{ name: nameOf(one), inject }],
      checks: drillChecks(drill),
    }),
  ];
}

export const DRILLS: readonly AnyScenario[] = CASES.flatMap(toScenarios);
