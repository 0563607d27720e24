/** Clicks in the journals of redirectors on this host; those of other hosts are waited for. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { listQuarantine } from "../../shared/clicks/quarantine.ts";
import { decodeSegment } from "../../shared/contracts/click-segment.ts";
import type { IsErased } from "./streams.ts";

/** Where units have the journals of redirectors. */
const STATE_DIR = "/var/lib";

/** The directories of the journals that units have on this host, as far as one may read them. */
export const findJournals = (): string[] =>
  namesIn(STATE_DIR)
    .filter((name) => name.startsWith("shorthop-redirector-"))
    .map((name) => join(STATE_DIR, name));

/** Clicks in segments that are not recycled yet. */
export const countInJournals = (dirs: readonly string[], isErased: IsErased): number =>
  dirs
    .flatMap((dir) => namesIn(dir).map((name) => join(dir, name)))
    .filter((path) => /\.(?:open|segment)$/.test(path))
    .reduce((sum, path) => sum + clicksIn(path).filter(isErased).length, 0);

/** Files that nobody can read yet, and that may have some. */
export const listUnreadable = (dirs: readonly string[]): string[] =>
  dirs.flatMap((dir) => listQuarantine(dir).map((name) => join(dir, name)));

function namesIn(dir: string): string[] {
  try {
    return readdirSync(dir);
  } catch {
    return [];
  }
}

/** None of a file that is recycled meanwhile. */
function clicksIn(path: string) {
  try {
    return decodeSegment(readFileSync(path))?.clicks ?? [];
  } catch {
    return [];
  }
}
