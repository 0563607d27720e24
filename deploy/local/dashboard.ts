/** The dashboard's files: built when its sources have changed, shared by all stacks of this folder. */
import { join } from "node:path";

import { PROJECT_DIR } from "./config.ts";
import { bunScript } from "./stack.ts";

/** Gives the folder of the built dashboard. */
export async function buildDashboard(): Promise<string> {
  const cache = join(PROJECT_DIR, ".local", "dashboard");
  const child = Bun.spawn(bunScript("dashboard/build.ts", "--cached", cache), {
    stdout: "pipe",
    stderr: "inherit",
  });
  const [text, code] = await Promise.all([new Response(child.stdout).text(), child.exited]);
  if (code !== 0) throw new Error(`The dashboard could not be built (exit code ${code}).`);
  return text.trim();
}
