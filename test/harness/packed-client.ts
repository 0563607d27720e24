/**
 * The TypeScript client as users install it: packed by npm, in the `node_modules` of an empty
 * project.
 */
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { packClient } from "../../deploy/pack-clients.ts";
import { CLIENT_FILE } from "../../shared/version.ts";
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
  const tarball = join(dir, CLIENT_FILE);
  await packClient(tarball);
  const target = join(dir, "node_modules/@shorthop/client");
  mkdirSync(target, { recursive: true });
  run(["tar", "--extract", "--strip-components=1", `--file=${tarball}`], target);
  for (const [name, program] of readPrograms()) writeFileSync(join(dir, name), program);
  return { dir, tarball };
}

/** The programs in the client's README, by their names. */
export function readPrograms(): Map<string, string> {
  const readme = readFileSync(join(CLIENT_DIR, "README.md"), "utf8");
  const programs = readme.matchAll(/```[jt]s(.*)\n([\s\S]*?)```/g);
  return new Map(Array.from(programs, ([, name = "", text = ""]) => [name.trim(), text]));
}

/**
 * The lines with which a page begins, for readers to copy; what they replace by their own is
 * replaced.
 */
export function readFirstLines(path: string, url = "", key = ""): string {
  const text = readFileSync(join(PROJECT_DIR, path), "utf8");
  const lines = /^```(?:sh|json)\n([\s\S]*?)^```$/m.exec(text)?.[1];
  if (lines === undefined) throw new Error(`${path} begins with no lines to copy.`);
  return lines.replaceAll("https://api.example.com", url).replaceAll("sk_live_…", key);
}

/** The commands in the README's quick start that call the API, one by one, and the one for npm. */
export function readCommands(): { calls: string[]; install: string } {
  const readme = readFileSync(join(PROJECT_DIR, "README.md"), "utf8");
  const blocks = Array.from(readme.matchAll(/```sh\n([\s\S]*?)```/g), ([, text = ""]) => text);
  const calls =
    blocks
      .find((text) => text.startsWith("curl"))
      ?.trim()
      .split("\n\n") ?? [];
  const install = /`(npm install http\S+)`/.exec(readme)?.[1];
  if (calls.length === 0 || install === undefined)
    throw new Error("The README has no commands to try.");
  return { calls, install };
}

export const FIRST_LINK = "first-link.mjs";
export const FIRST_HOUR = "first-hour.mjs";
