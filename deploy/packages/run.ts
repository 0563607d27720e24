/**
 * Tools of the build machine, and archives whose bytes follow from their files: names are sorted,
 * and times are the commit's.
 */
import { lutimesSync, readdirSync } from "node:fs";
import { join } from "node:path";

/** Runs a command in a directory and returns its standard output; throws if it fails. */
export function run([command = "", ...args]: string[], cwd: string): string {
  // Without `env`, a child gets the variables that this process was started with.
  const env = { ...process.env };
  const { exitCode, stdout, stderr } = Bun.spawnSync([command, ...args], { cwd, env });
  if (exitCode !== 0) throw new Error(`${command} ${args.join(" ")}:\n${stderr.toString()}`);
  return stdout.toString();
}

/** The time of the last commit, in seconds; now, if these are no files of a repository. */
export function readCommitTime(root: string): string {
  const { stdout } = Bun.spawnSync(["git", "log", "-1", "--format=%ct"], { cwd: root });
  return stdout.toString().trim() || String(Math.floor(Date.now() / 1_000));
}

/** Archives a folder of `dir` under a name; returns the archive's, which is in `dir` as well. */
export function archive(folder: string, dir: string, time: string, name = folder): string {
  const order = ["--sort=name", "--owner=0", "--group=0", "--numeric-owner"];
  const times = [`--mtime=@${time}`, "--use-compress-program=gzip --no-name"];
  const paths = [`--transform=flags=r;s,^${folder},${name},`, folder];
  const file = `${name}.tar.gz`;
  run(["tar", "--create", ...order, ...times, "--file", file, ...paths], dir);
  return file;
}

/** Writes what is in `folder` into a zip file, with `zip` of Info-ZIP. */
export function zip(folder: string, file: string, time: string): void {
  const paths = readdirSync(folder, { recursive: true, encoding: "utf8" }).toSorted();
  for (const path of paths) lutimesSync(join(folder, path), Number(time), Number(time));
  // Its times are those of the time zone; without -X it adds times of access.
  run(["env", "TZ=UTC", "zip", "-X", "--quiet", file, ...paths], folder);
}
