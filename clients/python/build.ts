/** Builds the Python client's wheel and its source archive. */
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { archive } from "../../deploy/packages/archive.ts";
import { run } from "../../deploy/packages/run.ts";

const PARTS = ["pyproject.toml", "README.md", "LICENSE", "src"];

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

/** The path of the first Python of this machine that can run these statements. */
export function findPython(statements: string): string | undefined {
  return (
    PYTHONS.map((name) => Bun.which(name)).find(
      (path) =>
        path !== null &&
        Bun.spawnSync([path, "-c", statements], { stderr: "ignore" }).exitCode === 0,
    ) ?? undefined
  );
}

/** Builds both into `dir`, with this time; returns their names, none where no Python can. */
export function buildPython(dir: string, time: string): string[] {
  const python = findPython(CAN_BUILD);
  if (python === undefined) {
    console.error("!!! No Python with setuptools is here: its client is left out");
    return [];
  }
  const work = mkdtempSync(join(tmpdir(), "shorthop-python-"));
  try {
    // It builds in the folder of the sources.
    const sources = join(work, "sources");
    for (const part of PARTS)
      cpSync(join(import.meta.dir, part), join(sources, part), {
        recursive: true,
        filter: (path) => !/\/(?:__pycache__|[^/]+\.egg-info)$/.test(path),
      });
    const built = join(work, "built");
    mkdirSync(built);
    const command = [python, "-W", "ignore", "-c", BUILD, built];
    run(["env", `SOURCE_DATE_EPOCH=${time}`, ...command], sources);
    return readdirSync(built)
      .toSorted()
      .map((name) => publish(name, built, dir, time));
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Only a wheel has the given time: setuptools takes the current one for a source archive. */
function publish(name: string, built: string, dir: string, time: string): string {
  if (name.endsWith(".tar.gz")) {
    run(["tar", "--extract", "--file", name], built);
    archive(name.replace(/\.tar\.gz$/, ""), built, time);
  }
  cpSync(join(built, name), join(dir, name));
  return name;
}
