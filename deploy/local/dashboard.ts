/**
 * The dashboard's files: rebuilt when their sources change, shared by all stacks of this checkout.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";

import { cachedFolder } from "../../dashboard/cache.ts";
import { CLIENT_FILE } from "../../shared/version.ts";
import { PROJECT_DIR } from "./config.ts";
import { bunScript } from "./stack.ts";
import type { Watchdog } from "./watchdog.ts";

/**
 * Returns the dashboard's folder, and builds it if necessary, in a process that the watchdog ends
 * with this one.
 */
export function buildDashboard(watchdog: Watchdog): { folder: string; built: Promise<void> } {
  const cache = join(PROJECT_DIR, ".local", "dashboard");
  const folder = cachedFolder(cache);
  return { folder, built: existsSync(folder) ? Promise.resolve() : build(cache, watchdog) };
}

async function build(cache: string, watchdog: Watchdog): Promise<void> {
  const command = bunScript("dashboard/build.ts", "--cached", cache);
  const child = Bun.spawn(command, { stdio: ["ignore", "ignore", "inherit"] });
  watchdog.watch("dashboard build", child.pid);
  const code = await child.exited;
  if (code !== 0) throw new Error(`The dashboard could not be built (exit code ${code}).`);
}

/**
 * Packs the TypeScript client into the dashboard's folder, where the API serves it from, unless it
 * is there. Nothing waits for it.
 */
export function packClient(folder: string, watchdog: Watchdog): void {
  const file = join(folder, CLIENT_FILE);
  if (existsSync(file)) return;
  const command = bunScript("deploy/pack-client.ts", file);
  const child = Bun.spawn(command, { stdio: ["ignore", "ignore", "inherit"] });
  watchdog.watch("client pack", child.pid);
}
