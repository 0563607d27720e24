/** Clocks that are an hour ahead or behind, of a store or of a process. */
import { CLOCKED, type Clocks } from "../../topologies/clocks.ts";
import type { TwoHosts } from "../../topologies/two-hosts.ts";
import type { Condition, Drill, Subject } from "./drill.ts";

const HOUR_SECONDS = 3_600;

/** How long a change may take to be on all hosts, on a quiet machine. */
const CHANGED_MS = 2_000;

/**
 * Subjects that have the clock of the machine, with each other: all others are wrong the other way
 * round instead.
 */
const RIGHT: ReadonlySet<Subject> = new Set(["NATS", "ClickHouse"]);

const WRONG: Partial<Record<Subject, Clocks>> = {
  PostgreSQL: { programs: ["postgres"] },
  NATS: { programs: CLOCKED, doctor: "api" },
  ClickHouse: { programs: CLOCKED, doctor: "api" },
  api: { programs: ["api"], doctor: "api" },
  redirector: { programs: ["redirector"], doctor: "redirector" },
  worker: { programs: ["worker"], doctor: "worker" },
};

/** By condition and subject. */
export const CLOCKS: Partial<Record<Condition, typeof WRONG>> = {
  "clock an hour ahead": WRONG,
  "clock an hour behind": WRONG,
};

const inject =
  (seconds: number): Drill["inject"] =>
  async (system: TwoHosts) => {
    await system.rest();
    system.setClocks(seconds);
    try {
      await system.hold();
      // Also what starts meanwhile.
      for (const name of ["api", "worker"] as const)
        await system.stopProcess(name, () => Promise.resolve());
      await system.hold();
      await expectChanges(system);
    } finally {
      system.setClocks(0);
    }
    await system.rest();
  };

/** Changes take effect on all hosts, also those of a process that started meanwhile. */
const expectChanges = ({ followed, hosts }: TwoHosts): Promise<void> =>
  followed.without(async () => {
    const expectTargets = await followed.readTargets();
    for (const { url } of hosts()) await expectTargets(url, CHANGED_MS);
  });

const drillsOf = (condition: Condition, sign: 1 | -1): Drill[] =>
  (Object.keys(WRONG) as Subject[]).map((subject) => ({
    subject,
    condition,
    promise:
      "Links, clicks and counts are right while it is wrong and afterwards, and `doctor` of a host compares the clocks.",
    named: /doctor \w+: .*clock of/,
    inject: inject(sign * HOUR_SECONDS * (RIGHT.has(subject) ? -1 : 1)),
  }));

export const CLOCK_DRILLS: readonly Drill[] = [
  ...drillsOf("clock an hour ahead", 1),
  ...drillsOf("clock an hour behind", -1),
];
