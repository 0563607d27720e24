/**
 * The clients as they are published: tarballs of npm, the wheel and the source archive of Python,
 * and the extension for the stores of browsers. What this machine cannot build is left out.
 * `bun deploy/pack-clients.ts FILE` packs the TypeScript client alone, for an API that serves it.
 */
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { hashFiles, lock, makeOnce } from "../shared/process-lock.ts";
import { version } from "../shared/version.ts";
import { archive, run, zip } from "./packages/run.ts";

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

const CLIENT = join(CLIENTS, "typescript");

const CACHE = join(import.meta.dir, "../.local/client");

/** Globs of all files that the package depends on. */
const CLIENT_SOURCES = ["src/*.ts", "*.{json,md,mjs}"];

const PACKED = "client.tgz";

/** Packs the client into a file; builds it if its sources have changed. */
export async function packClient(file: string): Promise<void> {
  const folder = join(CACHE, hashFiles(CLIENT, CLIENT_SOURCES));
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
