/**
 * The clients as they are published: tarballs of npm, the wheel and the source archive of Python,
 * and the extension for the stores of browsers. What this machine cannot build is left out.
 */
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { version } from "../shared/version.ts";
import { packClient } from "./pack-client.ts";
import { archive, zip } from "./packages/archive.ts";
import { run } from "./packages/run.ts";

const CLIENTS = join(import.meta.dir, "../clients");

/** Packs all clients into `dir`, with this time in seconds; returns the names of the files. */
export async function packClients(dir: string, time: string): Promise<string[]> {
  const typescript = `shorthop-client-${version}.tgz`;
  await packClient(join(dir, typescript));
  return [typescript, packCli(dir), ...packPython(dir, time), ...packExtension(dir, time)];
}

function packCli(dir: string): string {
  const folder = join(CLIENTS, "cli");
  run([process.execPath, "build.ts"], folder);
  return run(["npm", "pack", "--silent", "--pack-destination", dir], folder).trim();
}

const PYTHONS = ["python3", "/usr/bin/python3"];

/** Fails where setuptools makes no wheels: since 70.1 it does by itself, before with `wheel`. */
const CAN_BUILD =
  "from setuptools.dist import Distribution; Distribution().get_command_class('bdist_wheel')";

/** The interface of PEP 517, which needs no other package and no registry. */
const BUILD = `
import sys
from setuptools import build_meta
[folder] = sys.argv[1:]
build_meta.build_wheel(folder)
build_meta.build_sdist(folder)`;

/** What the package is built from. */
const SOURCES = ["pyproject.toml", "README.md", "LICENSE", "src"];

/** As {@link packClients}, the Python client alone; none where no Python can build it. */
export function packPython(dir: string, time: string): string[] {
  const python = PYTHONS.find(
    (name) =>
      Bun.which(name) !== null &&
      Bun.spawnSync([name, "-c", CAN_BUILD], { stderr: "ignore" }).exitCode === 0,
  );
  if (python === undefined) {
    console.error("!!! No Python with setuptools is here: its client is left out");
    return [];
  }
  const work = mkdtempSync(join(tmpdir(), "shorthop-python-"));
  try {
    // It builds in the folder of the sources.
    const sources = join(work, "sources");
    for (const name of SOURCES)
      cpSync(join(CLIENTS, "python", name), join(sources, name), {
        recursive: true,
        filter: (path) => !/\/(?:__pycache__|[^/]+\.egg-info)$/.test(path),
      });
    const built = join(work, "built");
    mkdirSync(built);
    const command = [python, "-W", "ignore", "-c", BUILD, built];
    run(["env", `SOURCE_DATE_EPOCH=${time}`, ...command], sources);
    const files = readdirSync(built).toSorted();
    for (const file of files) {
      if (file.endsWith(".tar.gz")) normalize(file, built, time);
      cpSync(join(built, file), join(dir, file));
    }
    return files;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** A wheel has the given time; setuptools takes the current one for a source archive. */
function normalize(file: string, dir: string, time: string): void {
  run(["tar", "--extract", "--file", file], dir);
  archive(file.replace(/\.tar\.gz$/, ""), dir, time);
}

function packExtension(dir: string, time: string): string[] {
  if (Bun.which("zip") === null) {
    console.error("!!! No zip is here: the browser extension is left out");
    return [];
  }
  const folder = join(CLIENTS, "extension");
  run([process.execPath, "build.ts"], folder);
  const file = `shorthop-extension-${version}.zip`;
  zip(join(folder, "dist"), join(dir, file), time);
  return [file];
}
