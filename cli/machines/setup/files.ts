/** Files and directories as setup wants them. */
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  type Stats,
  statSync,
} from "node:fs";

import { asOwnerOf, replaceFile } from "../owned-files.ts";
import { diffLines } from "./line-diff.ts";
import type { Change, Step } from "./step.ts";
import type { System } from "./system.ts";

export type DesiredFile = {
  path: string;
  /** None for a directory. */
  content?: string;
  /** Of a file that exists and belongs to another program, mode and owner stay as they are. */
  access?: { mode: number; group?: string };
};

const PERMISSIONS = 0o7777;
const PLAIN: NonNullable<DesiredFile["access"]> = { mode: 0o644 };

type FilesStep = {
  name: string;
  system: System;
  mask: (text: string) => string;
  list: () => readonly DesiredFile[];
};

/** A step that writes those files that are missing or differ. */
export const filesStep = ({ name, system, mask, list }: FilesStep): Step => ({
  name,
  inspect: () =>
    list().flatMap((file) =>
      asOwnerOf(system.path(file.path), () => inspectFile(file, system, mask)),
    ),
});

/** Returns a file's text, or undefined when it does not exist. */
export function readIfExists(system: System, path: string): string | undefined {
  const real = system.path(path);
  return existsSync(real) ? readFileSync(real, "utf8") : undefined;
}

function inspectFile(file: DesiredFile, system: System, mask: (text: string) => string): Change[] {
  const real = system.path(file.path);
  const found = existsSync(real) ? statSync(real) : undefined;
  const lines =
    file.content === undefined
      ? []
      : diffLines(mask(readIfExists(system, file.path) ?? ""), mask(file.content));
  const differs =
    found === undefined ||
    (file.content !== undefined && readIfExists(system, file.path) !== file.content);
  const access = found === undefined ? [] : describeAccess(file, found, system);
  if (!differs && access.length === 0) return [];
  const isDirectory = file.content === undefined;
  return [
    {
      title: `${isDirectory ? "make" : "write"} ${file.path}`,
      // Two secrets look the same when they are hidden.
      lines:
        differs && !isDirectory && lines.length === 0
          ? ["  another secret"]
          : [...lines, ...access],
      apply: () =>
        asOwnerOf(real, () =>
          isDirectory ? makeDirectory(file, system) : writeFile(file, system),
        ),
    },
  ];
}

/** What differs in mode and group. */
function describeAccess({ access }: DesiredFile, found: Stats, system: System): string[] {
  if (access === undefined) return [];
  const mode = found.mode & PERMISSIONS;
  const gid = groupId(access.group, system);
  return [
    ...(mode === access.mode ? [] : [`  mode ${octal(mode)} becomes ${octal(access.mode)}`]),
    ...(gid === undefined || gid === found.gid ? [] : [`  group becomes ${access.group}`]),
  ];
}

const octal = (mode: number): string => `0${mode.toString(8)}`;

/** The id of a group of this host; undefined for none, and for one that does not exist yet. */
function groupId(name: string | undefined, system: System): number | undefined {
  if (name === undefined) return undefined;
  const line = (readIfExists(system, "/etc/group") ?? "")
    .split("\n")
    .find((entry) => entry.startsWith(`${name}:`));
  const id = line?.split(":")[2];
  return id === undefined ? undefined : Number(id);
}

function makeDirectory({ path, access }: DesiredFile, system: System): void {
  const real = system.path(path);
  mkdirSync(real, { recursive: true });
  const { mode, group } = access ?? PLAIN;
  const gid = groupId(group, system);
  if (gid !== undefined) chownSync(real, statSync(real).uid, gid);
  chmodSync(real, mode);
}

function writeFile({ path, content = "", access }: DesiredFile, system: System): void {
  const real = system.path(path);
  const before = statSync(real, { throwIfNoEntry: false });
  if (before !== undefined && access === undefined) {
    const { mode, uid, gid } = before;
    return replaceFile(real, content, { mode: mode & PERMISSIONS, uid, gid });
  }
  const { mode, group } = access ?? PLAIN;
  const gid = groupId(group, system);
  replaceFile(real, content, { mode, ...(gid === undefined ? {} : { gid }) });
}
