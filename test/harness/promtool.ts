/**
 * Prometheus' own checker of rules, `promtool`: one that is installed, or Debian's, which is only
 * unpacked.
 */
import { join } from "node:path";

import { unpackPackages } from "./debian-package.ts";

/** Returns its path; if it cannot be had here, prints a warning and returns undefined. */
export async function findPromtool(): Promise<string | undefined> {
  const installed = Bun.which("promtool");
  if (installed !== null) return installed;
  try {
    return join(await unpackPackages("prometheus", ["prometheus"]), "usr/bin/promtool");
  } catch (error) {
    console.log("!!! There is no promtool: tests of the alerts are SKIPPED", error);
    return undefined;
  }
}
