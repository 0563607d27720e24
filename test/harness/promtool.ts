/**
 * Prometheus' own checker of rules, `promtool`: one that is installed, or Debian's, which is only
 * unpacked.
 */
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";

import { makeOnce } from "../../shared/make-once.ts";

const FOLDER = join(import.meta.dir, "../../.local/prometheus");

/** Returns its path; if it cannot be had here, prints a warning and returns undefined. */
export async function findPromtool(): Promise<string | undefined> {
  const installed = Bun.which("promtool");
  if (installed !== null) return installed;
  try {
    await makeOnce(FOLDER, unpack);
    return join(FOLDER, "usr/bin/promtool");
  } catch (error) {
    console.log("!!! There is no promtool: tests of the alerts are SKIPPED", error);
    return undefined;
  }
}

/** Downloads and unpacks the Debian package. Throws where it cannot be had. */
function unpack(dir: string): void {
  mkdirSync(dir);
  const run = (...command: string[]): boolean =>
    Bun.which(command[0] ?? "") !== null && Bun.spawnSync(command, { cwd: dir }).success;
  const download = () => run("apt-get", "download", "prometheus");
  // A fresh machine has no list of packages yet.
  if (!download() && !(run("apt-get", "update") && download()))
    throw new Error("apt-get cannot download Debian's package prometheus.");
  for (const file of readdirSync(dir).filter((one) => one.endsWith(".deb")))
    if (!run("dpkg", "--extract", file, ".")) throw new Error(`${file} cannot be unpacked.`);
}
