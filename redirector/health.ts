/** Readiness of the process, and warnings for operators. */
import { readFreeBytes } from "../shared/disk.ts";
import { type Config, linksDirOf } from "./config.ts";
import { storeWarning } from "./links/store-files.ts";
import type { Parts } from "./parts.ts";

/** The state of each part; the process is ready when all are `ok`. */
export const readReadiness = ({ logHealth }: Parts, isStopping: boolean) => ({
  process: isStopping ? "stopping" : "ok",
  links_feed: logHealth.readiness(),
});

/** What operators should know of a process that is ready; undefined for a part without that. */
export function readWarnings(parts: Parts, config: Config) {
  const { logHealth, replicas, geo, limits, continuity, ledgers, publisher, journal } = parts;
  const linksDir = linksDirOf(config);
  return {
    links_feed: logHealth.warning(),
    links_log: logHealth.ignoredWarning(),
    replicas: replicas.warning(),
    geoip: geo.warning(),
    // While no link has a limit, none can be exceeded.
    click_limits: limits.stats().known === 0 ? undefined : (continuity.problem ?? ledgers.problem),
    links_store: storeWarning(linksDir),
    clicks: clicksWarning({
      segments: publisher.stats().pending,
      seconds: publisher.stats().waitingSeconds,
      journalBytes: journal.stats().pendingBytes,
      journalBytesMax: config.JOURNAL_BYTES_MAX,
    }),
    disk: diskWarning({
      JOURNAL_DIR: { dir: config.JOURNAL_DIR, consequence: "clicks are lost" },
      LINKS_DIR: { dir: linksDir, consequence: "changes of links are not taken over" },
    }),
  };
}

/** Longer than a NATS cluster needs to elect a new leader. */
const WAITING_WARNING_SECONDS = 30;

/** The same threshold as the alert ShorthopJournalFilling. */
const FULL_WARNING = 0.5;

/** Clicks that wait in the journal. */
type ClicksBacklog = {
  segments: number;
  seconds: number;
  journalBytes: number;
  journalBytesMax: number;
};

/** Describes that NATS accepts no clicks, or that the journal is filling; undefined for neither. */
export function clicksWarning(waiting: ClicksBacklog): string | undefined {
  const { segments, seconds, journalBytes, journalBytesMax } = waiting;
  const share = journalBytes / journalBytesMax;
  return joinProblems([
    seconds >= WAITING_WARNING_SECONDS &&
      `NATS has taken none of ${segments} segments for ${Math.floor(seconds)} s`,
    share >= FULL_WARNING &&
      `the journal is ${Math.floor(100 * share)} % full; when it is full, clicks are lost`,
  ]);
}

/** Less space is nearly none: the open segments, and the reserve of a links store. */
const ROOM_BYTES_MIN = 64 * 1024 * 1024;

/** The folders by the variables that name them, and what happens when their disk is full. */
type DiskFolders = Readonly<Record<string, { dir: string; consequence: string }>>;

/** Describes the folders on full disks and the consequences; undefined when there are none. */
function diskWarning(folders: DiskFolders): string | undefined {
  const problems = Object.entries(folders).map(([variable, { dir, consequence }]) => {
    const bytes = readRoom(dir);
    const mib = Math.floor(bytes / 1024 ** 2);
    return (
      bytes < ROOM_BYTES_MIN &&
      `the disk of ${variable} has ${mib} MiB left; when it is full, ${consequence}`
    );
  });
  return joinProblems(problems);
}

/** Free bytes of a folder's disk; without a folder nobody needs any. */
function readRoom(dir: string): number {
  try {
    return readFreeBytes(dir);
  } catch {
    return Infinity;
  }
}

/** Joins the problems that there are; undefined when there are none. */
function joinProblems(problems: readonly (string | false)[]): string | undefined {
  const found = problems.filter((problem) => problem !== false);
  return found.length === 0 ? undefined : found.join("; ");
}
