/** Programs of Debian packages, which are only unpacked, never installed. */
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";

import { makeOnce } from "../../shared/make-once.ts";

const ROOT = join(import.meta.dir, "../..");

/**
 * Downloads and unpacks packages into a folder of the project, once; returns the folder. Throws
 * where they cannot be had.
 */
export async function unpackPackages(name: string, packages: readonly string[]): Promise<string> {
  const folder = join(ROOT, ".local", name);
  await makeOnce(folder, (unfinished) => unpack(unfinished, packages));
  return folder;
}

function unpack(dir: string, packages: readonly string[]): void {
  mkdirSync(dir);
  const run = (...command: string[]): boolean =>
    Bun.which(command[0] ?? "") !== null && Bun.spawnSync(command, { cwd: dir }).success;
  const download = () => run("apt-get", "download", ...packages);
  // A fresh machine has no list of packages yet.
  if (!download() && !(run("apt-get", "update") && download()))
    throw new Error(`apt-get cannot download Debian's packages ${packages.join(", ")}.`);
  for (const file of readdirSync(dir).filter((one) => one.endsWith(".deb")))
    if (!run("dpkg", "--extract", file, ".")) throw new Error(`${file} cannot be unpacked.`);
}
