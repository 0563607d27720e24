/** Runs scripts of this project. */
import { bunScript } from "./stack.ts";
import type { Watchdog } from "./watchdog.ts";

type Options = { env?: Record<string, string>; input?: string };

/** Runs a script; returns its standard output, or throws if it fails. */
export type RunScript = (
  path: string,
  args: readonly string[],
  options?: Options,
) => Promise<string>;

/** Creates a runner whose scripts end with this process, however it ends. */
export const createRunScript =
  (watchdog: Watchdog): RunScript =>
  async (path, args, { env = {}, input = "" } = {}) => {
    const child = Bun.spawn(bunScript(path, ...args), {
      env: { ...process.env, ...env },
      stdin: new Blob([input]),
      stdout: "pipe",
      stderr: "inherit",
    });
    watchdog.watch("script", child.pid);
    const [text, code] = await Promise.all([new Response(child.stdout).text(), child.exited]);
    if (code !== 0) throw new Error(`${path} ${args.slice(0, 2).join(" ")} failed (${code}).`);
    return text;
  };
