/**
 * Where PostgreSQL can run. Its server refuses to run as root, so root's stack runs it as another
 * user, and that user must be able to reach both programs and data.
 */
import { createHash } from "node:crypto";
import {
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

/** Where programs and data go when the project lies where only root can reach. */
const ELSEWHERE = "/var/lib/shorthop-local";

export type User = { uid: number; gid: number };

export type PostgresPlace = {
  /** Folder with `bin`, `lib` and `share`. */
  programs: string;
  /** Folder of the cluster and what belongs to it. */
  home: string;
  user: User | undefined;
};

/**
 * Chooses and prepares the place. `say` is told when it is not `home`, which is then a link to it.
 */
export function preparePlace(
  programs: string,
  home: string,
  say: (line: string) => void,
): PostgresPlace {
  if (process.getuid?.() !== 0) {
    mkdirSync(home, { recursive: true, mode: 0o700 });
    return { programs, home, user: undefined };
  }
  const user = unprivilegedUser();
  const elsewhere = elsewhereOf(home);
  const reachable = canReach(programs, user) && canReach(dirname(home), user);
  if (reachable && !existsSync(elsewhere)) {
    prepareHome(home, user);
    return { programs, home, user };
  }
  const place = { programs: join(elsewhere, "programs"), home: join(elsewhere, "postgres"), user };
  if (!existsSync(home)) {
    say(
      `PostgreSQL runs as another user than root, which cannot reach ${dirname(home)}: using ${elsewhere}.`,
    );
    mkdirSync(elsewhere, { recursive: true, mode: 0o755 });
    symlinkSync(place.home, home);
  }
  prepareHome(place.home, user);
  cpSync(programs, place.programs, { recursive: true, verbatimSymlinks: true });
  return place;
}

/** Removes what {@link preparePlace} put elsewhere. */
export const removePlace = (home: string): void =>
  rmSync(elsewhereOf(home), { recursive: true, force: true });

const elsewhereOf = (home: string): string =>
  join(ELSEWHERE, createHash("sha256").update(home).digest("hex").slice(0, 16));

function prepareHome(home: string, user: User): void {
  mkdirSync(home, { recursive: true, mode: 0o700 });
  chownSync(home, user.uid, user.gid);
}

/** The system's own `postgres` where there is one, else `nobody`; no user is added for this. */
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

/** Whether the user may pass through every folder down to `path`. */
export function canReach(path: string, user: User): boolean {
  const { mode, uid, gid } = statSync(path);
  const bit = uid === user.uid ? 0o100 : gid === user.gid ? 0o010 : 0o001;
  if ((mode & bit) === 0) return false;
  return dirname(path) === path || canReach(dirname(path), user);
}
