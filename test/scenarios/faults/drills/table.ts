/** All drills, and why there is none of the others. */
import { CLICKHOUSE_DRILLS } from "./clickhouse.ts";
import { clockDrills } from "./clocks.ts";
import type { Condition, Drill, Subject } from "./drill.ts";
import { GEOIP_DRILLS } from "./geoip.ts";
import { JOURNAL_DRILLS, LINKS_STORE_DRILLS } from "./host.ts";
import { NATS_DRILLS } from "./nats.ts";
import { pauseDrill } from "./pauses.ts";
import { POSTGRES_DRILLS } from "./postgres.ts";
import { API_DRILLS, REDIRECTOR_DRILLS, WORKER_DRILLS } from "./processes.ts";

/** The same reason in both conditions. */
const withoutClock = (reason: string) => ({
  "clock an hour ahead": reason,
  "clock an hour behind": reason,
});

const withoutDisk = (reason: string) => ({ "disk full": reason, "read-only": reason });

const ofProcess = (disk: string) => ({
  "older copy": "has no state of its own",
  empty: "has no state of its own",
  ...withoutDisk(disk),
  "one bit flipped": "has no state of its own",
});

/** By subject and condition: the drill, or why there is none. */
export const DRILLS_TABLE: Readonly<Record<Subject, Readonly<Record<Condition, Drill | string>>>> =
  {
    PostgreSQL: {
      ...POSTGRES_DRILLS,
      ...clockDrills("PostgreSQL"),
      "paused for a minute": pauseDrill("PostgreSQL"),
    },
    NATS: { ...NATS_DRILLS, ...clockDrills("NATS"), "paused for a minute": pauseDrill("NATS") },
    ClickHouse: {
      ...CLICKHOUSE_DRILLS,
      ...clockDrills("ClickHouse"),
      "paused for a minute": pauseDrill("ClickHouse"),
    },
    "links store": {
      ...LINKS_STORE_DRILLS,
      ...withoutClock("has no clock but the redirector's"),
      "paused for a minute": "a file does not pause; see redirector",
    },
    journal: {
      ...JOURNAL_DRILLS,
      ...withoutDisk("on the disk of the links store, in the same drill"),
      ...withoutClock("has no clock but the redirector's"),
      "paused for a minute": "a file does not pause; see redirector",
      "away longer than every retention": "in the same drill of the redirector",
    },
    "GeoIP file": {
      ...GEOIP_DRILLS,
      ...withoutDisk("processes only read it"),
      ...withoutClock("has no clock"),
      "paused for a minute": "a file does not pause",
    },
    api: {
      ...ofProcess("it writes no files but a snapshot of links, for which there is a day"),
      ...API_DRILLS,
      ...clockDrills("api"),
      "paused for a minute": pauseDrill("api"),
    },
    redirector: {
      ...ofProcess("see links store and journal"),
      ...REDIRECTOR_DRILLS,
      ...clockDrills("redirector"),
      "paused for a minute": pauseDrill("redirector"),
    },
    worker: {
      ...ofProcess("it writes no files"),
      ...WORKER_DRILLS,
      ...clockDrills("worker"),
      "paused for a minute": pauseDrill("worker"),
    },
  };
