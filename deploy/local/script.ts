/** Runs one of our scripts to its end. */
import { bunScript } from "./stack.ts";

type Options = { env?: Record<string, string>; input?: string };

/** Gives what it printed; throws when it fails. */
export async function runScript(
  path: string,
  words: readonly string[],
  { env = {}, input = "" }: Options = {},
): Promise<string> {
  const child = Bun.spawn(bunScript(path, ...words), {
    env: { ...process.env, ...env },
    stdin: new Blob([input]),
    stdout: "pipe",
    stderr: "inherit",
  });
  const [text, code] = await Promise.all([new Response(child.stdout).text(), child.exited]);
  if (code !== 0) throw new Error(`${path} ${words.slice(0, 2).join(" ")} failed (${code}).`);
  return text;
}
