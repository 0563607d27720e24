/** The dashboard's files: built when its sources have changed, shared by all stacks of this folder. */
import { join } from "node:path";

import { PROJECT_DIR } from "./config.ts";
import { runScript } from "./script.ts";

/** Gives the folder of the built dashboard. */
export async function buildDashboard(): Promise<string> {
  const cache = join(PROJECT_DIR, ".local", "dashboard");
  return (await runScript("dashboard/build.ts", ["--cached", cache])).trim();
}
