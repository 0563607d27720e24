/** All drills, and why there is none of the others. */
import { CLICKHOUSE_DRILLS } from "./clickhouse.ts";
import { CLOCK_DRILLS } from "./clocks.ts";
import type { Condition, Drill, Subject } from "./drill.ts";
import { GEOIP_DRILLS } from "./geoip.ts";
import { HOST_DRILLS } from "./host.ts";
import { NATS_DRILLS } from "./nats.ts";
import { PAUSE_DRILLS } from "./pauses.ts";
import { POSTGRES_DRILLS } from "./postgres.ts";
import { PROCESS_DRILLS } from "./processes.ts";

/** By subject and condition: why there is no drill. */
export const NOT_APPLICABLE: Partial<Record<Subject, Partial<Record<Condition, string>>>> = {
  journal: {
    "away longer than every retention": "in the same drill of the redirector",
    "disk full": "on the disk of the links store, in the same drill",
    "read-only": "on the disk of the links store, in the same drill",
    "clock an hour ahead": "has no clock but the redirector's",
    "clock an hour behind": "has no clock but the redirector's",
    "paused for a minute": "a file does not pause; see redirector",
  },
  "links store": {
    "clock an hour ahead": "has no clock but the redirector's",
    "clock an hour behind": "has no clock but the redirector's",
    "paused for a minute": "a file does not pause; see redirector",
  },
  "GeoIP file": {
    "disk full": "processes only read it",
    "read-only": "processes only read it",
    "clock an hour ahead": "has no clock",
    "clock an hour behind": "has no clock",
    "paused for a minute": "a file does not pause",
  },
  api: notOfProcesses("it writes no files but a snapshot of links, for which there is a day"),
  worker: notOfProcesses("it writes no files"),
  redirector: notOfProcesses("see links store and journal"),
};

function notOfProcesses(disk: string): Partial<Record<Condition, string>> {
  return {
    "older copy": "has no state of its own",
    empty: "has no state of its own",
    "disk full": disk,
    "read-only": disk,
    "one bit flipped": "has no state of its own",
  };
}

export const DRILLS_TABLE: readonly Drill[] = [
  ...POSTGRES_DRILLS,
  ...NATS_DRILLS,
  ...CLICKHOUSE_DRILLS,
  ...HOST_DRILLS,
  ...GEOIP_DRILLS,
  ...PROCESS_DRILLS,
  ...CLOCK_DRILLS,
  ...PAUSE_DRILLS,
];
