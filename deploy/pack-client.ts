/**
 * Packs the client as npm does, for an API that serves the client that fits it:
 * `bun deploy/pack-client.ts FILE`.
 */
import { copyFileSync, mkdirSync, readdirSync, renameSync } from "node:fs";
import { join } from "node:path";

import { hashFiles, makeOnce } from "../shared/make-once.ts";
import { lock } from "../shared/process-lock.ts";

const CLIENT = join(import.meta.dir, "../clients/typescript");

const CACHE = join(import.meta.dir, "../.local/client");

/** Globs of all files that the package depends on. */
const SOURCES = ["src/*.ts", "*.{json,md,mjs}"];

const PACKED = "client.tgz";

/** Packs the client into a file; builds it if its sources have changed. */
export async function packClient(file: string): Promise<void> {
  const folder = join(CACHE, hashFiles(CLIENT, SOURCES));
  await makeOnce(folder, buildInto);
  // No process reads a part of it.
  copyFileSync(join(folder, PACKED), `${file}.new`);
  renameSync(`${file}.new`, file);
}

async function buildInto(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  // It builds in the client's own folder.
  using _ = await lock("pack", CLIENT);
  const command = ["npm", "pack", "--silent", "--pack-destination", folder];
  const child = Bun.spawn(command, {
    cwd: CLIENT,
    stdio: ["ignore", "ignore", "inherit"],
  });
  const code = await child.exited;
  const [packed] = readdirSync(folder);
  if (code !== 0 || packed === undefined)
    throw new Error(`The client could not be packed (exit code ${code}).`);
  renameSync(join(folder, packed), join(folder, PACKED));
}

if (import.meta.main) await packClient(process.argv[2] ?? PACKED);
