/** Files that root writes where another user may write too, who must not lead it elsewhere. */
import { randomUUID } from "node:crypto";
import {
  chmodSync,
  closeSync,
  fchmodSync,
  fchownSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";

const ROOT = 0;
const OWNER_WRITES = 0o200;

type Owner = { uid: number; gid: number };

/** Without owner and group, those of this process. */
type Access = { mode: number; uid?: number; gid?: number };

/** Beside a file, until it is whole: a name at which nobody can have put a link. */
export const unfinishedNameOf = (path: string): string => `${path}.${randomUUID()}.new`;

/** Writes a file in one step: a reader sees the old one or the new one, and nobody a secret. */
export function replaceFile(path: string, content: string, access: Access): void {
  const dir = dirname(path);
  mkdirSync(dir, { recursive: true });
  const { mode } = statSync(dir);
  // ClickHouse's package makes folders that even their owner may not write to; root always may.
  const isOpen = process.geteuid?.() === ROOT || (mode & OWNER_WRITES) !== 0;
  if (!isOpen) chmodSync(dir, mode | OWNER_WRITES);
  try {
    replaceIn(path, content, access);
  } finally {
    if (!isOpen) chmodSync(dir, mode);
  }
}

function replaceIn(path: string, content: string, { mode, uid, gid }: Access): void {
  const unfinished = unfinishedNameOf(path);
  // The flag x: what is there already, also a link, is an error.
  const file = openSync(unfinished, "wx", 0o600);
  try {
    writeFileSync(file, content);
    // Files of other users are theirs in any case.
    if (process.geteuid?.() === ROOT && (uid ?? gid) !== undefined)
      fchownSync(file, uid ?? ROOT, gid ?? ROOT);
    fchmodSync(file, mode);
    renameSync(unfinished, path);
  } catch (error) {
    rmSync(unfinished, { force: true });
    throw error;
  } finally {
    closeSync(file);
  }
}

/**
 * Runs a step of root on a file, as the first user but root who owns a directory on its way. That
 * user can replace everything below by links, which then lead to what the user may do anyway.
 */
export function asOwnerOf<T>(path: string, work: () => T): T {
  const { seteuid, setegid, setgroups, getgroups, getegid, geteuid } = process;
  const owner = geteuid?.() === ROOT ? findOwner(dirname(path)) : undefined;
  if (owner === undefined) return work();
  const [group, groups] = [getegid?.() ?? ROOT, getgroups?.() ?? []];
  try {
    setgroups?.([]);
    setegid?.(owner.gid);
    seteuid?.(owner.uid);
    return work();
  } finally {
    seteuid?.(ROOT);
    setegid?.(group);
    setgroups?.(groups);
  }
}

/** The first owner but root on the way to a directory; what is missing there, root will make. */
function findOwner(dir: string): Owner | undefined {
  const parent = dirname(dir);
  const above = parent === dir ? undefined : findOwner(parent);
  if (above !== undefined) return above;
  // A link of root's is followed, one of another user's is that user's directory.
  const found = [lstatSync, statSync]
    .map((look) => look(dir, { throwIfNoEntry: false }))
    .find((stats) => stats !== undefined && stats.uid !== ROOT);
  return found && { uid: found.uid, gid: groupOf(found.uid) ?? found.gid };
}

/** The group of a user of this host: that of a directory may be root's. */
function groupOf(uid: number): number | undefined {
  const fields = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .map((line) => line.split(":"))
    .find(([, , id]) => id === String(uid));
  return fields?.[3] === undefined ? undefined : Number(fields[3]);
}
