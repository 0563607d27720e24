/**
 * Chooses the folders PostgreSQL runs from. Its server refuses to run as root, so root's stack runs
 * it as another user, and that user must be able to reach both programs and data.
 */
import { createHash } from "node:crypto";
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { dirname, join } from "node:path";

import { TRAVERSABLE_MODE } from "./private-files.ts";

/** Root of programs and data if only root can reach the project's folder. */
const FALLBACK_ROOT = "/var/lib/shorthop-local";

export type User = { uid: number; gid: number };

export type PostgresInstallation = {
  /** Folder with `bin`, `lib` and `share`. */
  programs: string;
  /** Folder of the database cluster and its files. */
  home: string;
  user: User | undefined;
};

/**
 * Chooses and prepares the folders. If `home` is unreachable, it becomes a link to the fallback,
 * and `log` says at each start where the data is.
 */
export function prepareInstallation(
  programs: string,
  home: string,
  log: (line: string) => void,
): PostgresInstallation {
  if (process.getuid?.() !== 0) {
    mkdirSync(home, { recursive: true, mode: 0o700 });
    return { programs, home, user: undefined };
  }
  const user = unprivilegedUser();
  const fallback = fallbackFolder(home);
  const reachable = canReach(programs, user) && canReach(dirname(home), user);
  if (reachable && !existsSync(fallback)) {
    prepareHome(home, user);
    return { programs, home, user };
  }
  const installation = {
    programs: join(fallback, "programs"),
    home: join(fallback, "postgres"),
    user,
  };
  log(
    `PostgreSQL cannot run as root, and its user cannot reach ${dirname(home)}: its data is in ${fallback}. It stays when this folder is deleted: npm start -- --remove removes it.`,
  );
  if (!existsSync(home)) {
    mkdirSync(fallback, { recursive: true });
    symlinkSync(installation.home, home);
  }
  // Others may traverse these folders but not list them; the folders inside decide who reads their
  // files.
  for (const dir of [FALLBACK_ROOT, fallback]) chmodSync(dir, TRAVERSABLE_MODE);
  prepareHome(installation.home, user);
  copyPrograms(programs, installation.programs);
  return installation;
}

/** Removes the fallback folder of {@link prepareInstallation}. */
export const removeInstallation = (home: string): void =>
  rmSync(fallbackFolder(home), { recursive: true, force: true });

/** Copies the server's programs so that another user can run them. */
function copyPrograms(from: string, to: string): void {
  const umask = process.umask(0o022);
  try {
    cpSync(from, to, { recursive: true, verbatimSymlinks: true });
  } finally {
    process.umask(umask);
  }
}

/** Where the data is if only root can reach the project's folder. */
export const fallbackFolder = (home: string): string =>
  join(FALLBACK_ROOT, createHash("sha256").update(home).digest("hex").slice(0, 16));

function prepareHome(home: string, user: User): void {
  mkdirSync(home, { recursive: true, mode: 0o700 });
  chownSync(home, user.uid, user.gid);
}

/** The system's `postgres` user if it exists, else `nobody`; no user is created. */
function unprivilegedUser(): User {
  const users = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .map((line) => line.split(":"));
  const found =
    users.find(([name]) => name === "postgres") ?? users.find(([name]) => name === "nobody");
  if (found === undefined)
    throw new Error("PostgreSQL needs a user other than root, such as nobody.");
  return { uid: Number(found[2]), gid: Number(found[3]) };
}

/** Whether the user may traverse every folder down to `path`. */
export function canReach(path: string, user: User): boolean {
  const { mode, uid, gid } = statSync(path);
  const bit = uid === user.uid ? 0o100 : gid === user.gid ? 0o010 : 0o001;
  if ((mode & bit) === 0) return false;
  return dirname(path) === path || canReach(dirname(path), user);
}
