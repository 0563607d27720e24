/** Files and directories as setup wants them. */
import { chmodSync, chownSync, mkdirSync, type Stats, statSync } from "node:fs";

import type { Host } from "../host.ts";
import { asOwnerOf, replaceFile } from "../owned-files.ts";
import type { Mask } from "./secrets.ts";
import type { Change, Step } from "./step.ts";

export type DesiredFile = {
  path: string;
  /** None for a directory. */
  content?: string;
  /** Of a file that exists and belongs to another program, mode and owner stay as they are. */
  access?: { mode: number; group?: string };
};

const PERMISSIONS = 0o7777;
const PLAIN: NonNullable<DesiredFile["access"]> = { mode: 0o644 };

/** A step that writes those files that are missing or differ. */
export const filesStep = (
  name: string,
  host: Host,
  mask: Mask,
  list: () => readonly DesiredFile[],
): Step => ({
  name,
  inspect: () =>
    list().flatMap((file) => asOwnerOf(host.path(file.path), () => inspectFile(file, host, mask))),
});

function inspectFile(file: DesiredFile, host: Host, mask: Mask): Change[] {
  const { path, content } = file;
  const real = host.path(path);
  const found = statSync(real, { throwIfNoEntry: false });
  const present = content === undefined ? undefined : host.readFile(path);
  const differs = found === undefined || present !== content;
  const access = found === undefined ? [] : describeAccess(file, found, host);
  if (!differs && access.length === 0) return [];
  if (content === undefined)
    return [
      {
        title: `make ${path}`,
        lines: access,
        apply: () => asOwnerOf(real, () => makeDirectory(file, host)),
      },
    ];
  const lines = diffLines(mask.hide(present ?? ""), mask.hide(content));
  // Two secrets look the same when they are hidden.
  if (differs && lines.length === 0) lines.push("  another secret, or lines in another order");
  return [
    {
      title: `write ${path}`,
      lines: [...lines, ...access],
      apply: () => asOwnerOf(real, () => writeFile(file, host)),
    },
  ];
}

function describeAccess({ access }: DesiredFile, found: Stats, host: Host): string[] {
  if (access === undefined) return [];
  const mode = found.mode & PERMISSIONS;
  const gid = groupId(access.group, host);
  return [
    ...(mode === access.mode ? [] : [`  mode ${octal(mode)} becomes ${octal(access.mode)}`]),
    ...(gid === undefined || gid === found.gid ? [] : [`  group becomes ${access.group}`]),
  ];
}

const octal = (mode: number): string => `0${mode.toString(8)}`;

/** The id of a group of this host; undefined for none, and for one that does not exist yet. */
function groupId(name: string | undefined, host: Host): number | undefined {
  if (name === undefined) return undefined;
  const line = (host.readFile("/etc/group") ?? "")
    .split("\n")
    .find((entry) => entry.startsWith(`${name}:`));
  const id = line?.split(":")[2];
  return id === undefined ? undefined : Number(id);
}

function makeDirectory({ path, access }: DesiredFile, host: Host): void {
  const real = host.path(path);
  mkdirSync(real, { recursive: true });
  const { mode, group } = access ?? PLAIN;
  const gid = groupId(group, host);
  if (gid !== undefined) chownSync(real, statSync(real).uid, gid);
  chmodSync(real, mode);
}

function writeFile({ path, content = "", access }: DesiredFile, host: Host): void {
  const real = host.path(path);
  const before = statSync(real, { throwIfNoEntry: false });
  if (before !== undefined && access === undefined) {
    const { mode, uid, gid } = before;
    return replaceFile(real, content, { mode: mode & PERMISSIONS, uid, gid });
  }
  const { mode, group } = access ?? PLAIN;
  const gid = groupId(group, host);
  replaceFile(real, content, { mode, ...(gid === undefined ? {} : { gid }) });
}

/** A diff for people: the lines that go, `- before`, then those that come, `+ after`. */
export function diffLines(before: string, after: string): string[] {
  const [old, now] = [before, after].map((text) => text.split("\n").filter((line) => line !== ""));
  return [
    ...without(old ?? [], now ?? []).map((line) => `- ${line}`),
    ...without(now ?? [], old ?? []).map((line) => `+ ${line}`),
  ];
}

/** Of lines, those that others lack; of equal ones, as many as others have fewer of. */
function without(lines: readonly string[], others: readonly string[]): string[] {
  const left = Map.groupBy(others, (line) => line);
  return lines.filter((line) => left.get(line)?.pop() === undefined);
}
