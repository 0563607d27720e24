/** Clocks that are an hour ahead or behind, of a store or of a process. */
import { CLOCKED, type Clocks } from "../../topologies/clocks.ts";
import type { TwoHosts } from "../../topologies/two-hosts.ts";
import type { Case, Drill, Subject } from "./drill.ts";

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

/** The clocks that a drill sets, if it is one of these. */
export const clocksOf = ({ subject, condition }: Case): Clocks | undefined =>
  condition.startsWith("clock") ? WRONG[subject] : undefined;

async function setWrong(system: TwoHosts, seconds: number): Promise<void> {
  await system.rest();
  system.setClocks(seconds);
  try {
    await system.hold();
    // Also what starts meanwhile.
    for (const name of ["api", "worker"] as const) await system.restartProcess(name);
    await system.hold();
    await expectChanges(system);
  } finally {
    system.setClocks(0);
  }
  await system.rest();
}

/** Changes take effect on all hosts, also those of a process that started meanwhile. */
const expectChanges = ({ followed, hosts }: TwoHosts): Promise<void> =>
  followed.without(async () => {
    const expectTargets = await followed.readTargets();
    for (const { url } of hosts()) await expectTargets(url, CHANGED_MS);
  });

/** The drills of a subject, with its clock ahead and behind. */
export function clockDrills(subject: Subject) {
  const drill = (sign: 1 | -1): Drill => ({
    promise:
      "Links, clicks and counts are right while it is wrong and afterwards, and `doctor` of a host compares the clocks.",
    named: /doctor \w+: .*clock of/,
    inject: (system) => setWrong(system, sign * HOUR_SECONDS * (RIGHT.has(subject) ? -1 : 1)),
  });
  return { "clock an hour ahead": drill(1), "clock an hour behind": drill(-1) };
}
