import type { Cell, Condition, Subject } from "./cell.ts";
/** The matrix of drills as data: all cells, and why there is none of the others. */
import { CLICKHOUSE_CELLS } from "./clickhouse.ts";
import { CLOCK_CELLS } from "./clocks.ts";
import { GEOIP_CELLS } from "./geoip.ts";
import { HOST_CELLS } from "./host.ts";
import { NATS_CELLS } from "./nats.ts";
import { PAUSE_CELLS } from "./pauses.ts";
import { POSTGRES_CELLS } from "./postgres.ts";
import { PROCESS_CELLS } from "./processes.ts";

/** By subject and condition: why there is no cell. */
export const NOT_APPLICABLE: Partial<Record<Subject, Partial<Record<Condition, string>>>> = {
  journal: {
    "away longer than every retention": "in the same cell of the redirector",
    "disk full": "on the disk of the links store, in the same cell",
    "read-only": "on the disk of the links store, in the same cell",
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
    "older copy": "has no state of its own; older programs are in the scenario `upgrade`",
    empty: "has no state of its own",
    "disk full": disk,
    "read-only": disk,
    "one bit flipped": "has no state of its own",
  };
}

export const CELLS: readonly Cell[] = [
  ...POSTGRES_CELLS,
  ...NATS_CELLS,
  ...CLICKHOUSE_CELLS,
  ...HOST_CELLS,
  ...GEOIP_CELLS,
  ...PROCESS_CELLS,
  ...CLOCK_CELLS,
  ...PAUSE_CELLS,
];
