/**
 * The dashboard's files: rebuilt when their sources change, shared by all stacks of this checkout.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";

import { cachedFolder } from "../../dashboard/cache.ts";
import { CLIENT_FILE } from "../../shared/version.ts";
import { PROJECT_DIR } from "./config.ts";
import { bunScript } from "./stack.ts";
import { endWithParent } from "./supervisor.ts";

/** Returns the dashboard's folder, and builds it if necessary, in a process of its own. */
export function buildDashboard(): { folder: string; built: Promise<void> } {
  const cache = join(PROJECT_DIR, ".local", "dashboard");
  const folder = cachedFolder(cache);
  return { folder, built: existsSync(folder) ? Promise.resolve() : build(cache) };
}

async function build(cache: string): Promise<void> {
  const code = await start(bunScript("dashboard/build.ts", "--cached", cache)).exited;
  if (code !== 0) throw new Error(`The dashboard could not be built (exit code ${code}).`);
}

/** Packs the TypeScript client, which the API serves, unless it is there. Nothing waits for it. */
export function packClient(folder: string): void {
  const file = join(folder, CLIENT_FILE);
  if (!existsSync(file)) start(bunScript("deploy/pack-clients.ts", file));
}

const start = (command: readonly string[]) =>
  Bun.spawn(endWithParent(command), { stdio: ["ignore", "ignore", "inherit"] });
