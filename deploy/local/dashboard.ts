/** The dashboard's files: rebuilt when their sources change, shared by all stacks of this checkout. */
import { join } from "node:path";

import { PROJECT_DIR } from "./config.ts";
import type { RunScript } from "./run-script.ts";

/** Builds the dashboard if necessary; returns its folder. */
export async function buildDashboard(runScript: RunScript): Promise<string> {
  const cache = join(PROJECT_DIR, ".local", "dashboard");
  return (await runScript("dashboard/build.ts", ["--cached", cache])).trim();
}
