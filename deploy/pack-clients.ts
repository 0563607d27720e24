/**
 * The clients as they are published: tarballs of npm, the wheel and the source archive of Python,
 * and the extension for the stores of browsers. What this machine cannot build is left out.
 */
import { join } from "node:path";

import { buildCli } from "../clients/cli/build.ts";
import { buildExtension, EXTENSION } from "../clients/extension/build.ts";
import { buildPython } from "../clients/python/build.ts";
import { version } from "../shared/version.ts";
import { packClient } from "./pack-client.ts";
import { zip } from "./packages/archive.ts";
import { run } from "./packages/run.ts";

const CLI = join(import.meta.dir, "../clients/cli");

/** Packs all clients into `dir`, with this time; returns the names of the files. */
export async function packClients(dir: string, time: string): Promise<string[]> {
  const typescript = `shorthop-client-${version}.tgz`;
  await packClient(join(dir, typescript));
  await buildCli();
  const cli = run(["npm", "pack", "--silent", "--pack-destination", dir], CLI).trim();
  return [typescript, cli, ...buildPython(dir, time), ...(await packExtension(dir, time))];
}

async function packExtension(dir: string, time: string): Promise<string[]> {
  if (Bun.which("zip") === null) {
    console.error("!!! No zip is here: the browser extension is left out");
    return [];
  }
  await buildExtension();
  const file = `shorthop-extension-${version}.zip`;
  zip(EXTENSION, join(dir, file), time);
  return [file];
}
