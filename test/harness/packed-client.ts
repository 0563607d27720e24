/**
 * The TypeScript client as users install it: packed by npm, in the `node_modules` of an empty
 * project.
 */
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { lock } from "../../shared/process-lock.ts";
import { PROJECT_DIR } from "./stack.ts";

export const CLIENT_DIR = join(PROJECT_DIR, "clients/typescript");

/** Runs a program and returns what it printed; throws with that when it fails. */
export function run(command: string[], cwd: string, env: Record<string, string> = {}): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync(command, {
    cwd,
    env: { ...process.env, ...env },
  });
  const output = `${stdout.toString()}${stderr.toString()}`;
  if (exitCode !== 0) throw new Error(`${command.join(" ")}: ${output}`);
  return stdout.toString();
}

/** Builds and packs the client; returns a new folder with it in `node_modules`, and the tarball. */
export async function installClient(): Promise<{ dir: string; tarball: string }> {
  const dir = mkdtempSync(join(tmpdir(), "shorthop-client-"));
  {
    // It builds in the client's own folder.
    using _ = await lock("pack", CLIENT_DIR);
    run(["npm", "pack", "--silent", "--pack-destination", dir], CLIENT_DIR);
  }
  const { version } = JSON.parse(readFileSync(join(CLIENT_DIR, "package.json"), "utf8")) as {
    version: string;
  };
  const tarball = join(dir, `shorthop-client-${version}.tgz`);
  const target = join(dir, "node_modules/@shorthop/client");
  mkdirSync(target, { recursive: true });
  run(["tar", "--extract", "--strip-components=1", `--file=${tarball}`], target);
  writeFileSync(join(dir, "first-hour.mjs"), readFirstHour());
  return { dir, tarball };
}

/** The program in the client's README. */
export function readFirstHour(): string {
  const readme = readFileSync(join(CLIENT_DIR, "README.md"), "utf8");
  const [, program] = /```js first-hour\.mjs\n([\s\S]*?)```/.exec(readme) ?? [];
  if (program === undefined) throw new Error("The README has no program.");
  return program;
}
