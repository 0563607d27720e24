/** The architectures that packages are built for, from either. */
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import * as z from "zod";

import { makeOnce } from "../../shared/process-lock.ts";
import { run } from "./run.ts";

const ROOT = join(import.meta.dir, "../..");

export type Architecture = {
  /** As Node calls it, which is in names of tarballs. */
  name: string;
  debian: string;
  /** The package of the runtime in the npm registry. */
  runtime: "@oven/bun-linux-x64" | "@oven/bun-linux-aarch64";
};

export const ARCHITECTURES: readonly Architecture[] = [
  { name: "x64", debian: "amd64", runtime: "@oven/bun-linux-x64" },
  { name: "arm64", debian: "arm64", runtime: "@oven/bun-linux-aarch64" },
];

/** The architecture of this name, or of this machine. Throws when packages cannot have it. */
export function findArchitecture(name: string = process.arch): Architecture {
  const found = ARCHITECTURES.find((one) => name === one.name || name === one.debian);
  if (found === undefined) throw new Error(`There are no packages for ${name}.`);
  return found;
}

const lockSchema = z.object({
  packages: z.record(
    z.string(),
    z.object({ version: z.string(), integrity: z.string() }).partial(),
  ),
});

/** The version and the hash of a dependency in the lock file. */
function readLocked(name: string): { version: string; integrity: string } {
  const lock = lockSchema.parse(JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8")));
  const { version, integrity } = lock.packages[`node_modules/${name}`] ?? {};
  if (version === undefined || integrity === undefined)
    throw new Error(`package-lock.json does not have ${name}.`);
  return { version, integrity };
}

/** This runtime, or that of another architecture, whose hash is in the lock file. */
export async function findRuntime({ name, runtime }: Architecture): Promise<string> {
  if (name === process.arch) return process.execPath;
  const { version, integrity } = readLocked(runtime);
  const folder = join(ROOT, ".local/runtimes", `bun-${version}-${name}`);
  await makeOnce(folder, (unfinished) => {
    mkdirSync(unfinished);
    run(["npm", "pack", "--silent", `${runtime}@${version}`], unfinished);
    const archive = readdirSync(unfinished).find((file) => file.endsWith(".tgz")) ?? "";
    const content = readFileSync(join(unfinished, archive));
    const hash = new Bun.CryptoHasher("sha512").update(content).digest("base64");
    if (integrity !== `sha512-${hash}`) throw new Error(`${runtime} is not that of the lock file.`);
    run(["tar", "--extract", "--file", archive, "package/bin/bun"], unfinished);
  });
  return join(folder, "package/bin/bun");
}
