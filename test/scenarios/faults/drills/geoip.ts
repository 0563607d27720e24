/** The GeoIP file: a click without a place counts all the same. */
import {
  copyFileSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";

import { flipBit } from "../../../harness/flip-bit.ts";
import { GEOIP_FILE, geoipPath } from "../../topologies/two-hosts.ts";
import { type Drill, type Drills, RESTARTED } from "./drill.ts";

/** Processes that read it. */
const READERS = ["worker", "redirector"] as const;

/** Replaces the file as an update does, by a rename; without a change, by the right one. */
function replace(path: string, change: (path: string) => void = () => undefined): void {
  const other = `${path}.new`;
  copyFileSync(GEOIP_FILE, other);
  change(other);
  renameSync(other, path);
}

/**
 * Gives processes that run another file, then those that start, and in the end the right one again.
 */
const withFile =
  (change: (path: string) => void): Drill["inject"] =>
  async (system) => {
    const path = geoipPath(system.dir);
    change(path);
    await system.hold();
    for (const name of READERS) await system.restartProcess(name, "SIGTERM");
    await system.hold();
    replace(path);
    await system.rest();
  };

const OLD = Buffer.from("build_epoch");

/** Makes a file say that it was built in 2001: its metadata is at its end. */
function makeOld(path: string): void {
  const bytes = readFileSync(path);
  const at = bytes.lastIndexOf(OLD);
  // One byte says that an integer of 64 bits follows, and of how many bytes; the first one is that
  // of highest order.
  bytes[at + OLD.length + 2] = 0x3b;
  writeFileSync(path, bytes);
}

const NAMED = /geoip|GEOIP|GeoIP/;

export const GEOIP_DRILLS = {
  "older copy": {
    promise: "Clicks get the places of the older data, and an alert tells of its age.",
    ...RESTARTED,
    named: /ShorthopOldGeoData|age of GeoIP databases/,
    inject: withFile((path) => replace(path, makeOld)),
  },
  empty: {
    promise:
      "Processes that run keep what they have read; those that start store clicks without a place.",
    ...RESTARTED,
    named: NAMED,
    inject: withFile((path) => replace(path, (file) => truncateSync(file))),
  },
  "one bit flipped": {
    promise: "No click is lost; that one address has another place or none.",
    ...RESTARTED,
    inject: withFile((path) => replace(path, flipBit)),
  },
  "away longer than every retention": {
    promise: "As an empty one.",
    ...RESTARTED,
    named: NAMED,
    inject: withFile((path) => rmSync(path)),
  },
} satisfies Drills;
