/**
 * The click journal: a click is in the file system before its redirect is answered, so that killing
 * this process loses none. Clicks that come in together are written together: `append` takes one in,
 * `commit` writes all that were taken in, and only then may their redirects be answered. Pages are
 * cut and numbered here, before anything is published.
 *
 * Never throws and never waits: a full disk or a full journal costs clicks, counted by reason, and
 * never a redirect.
 */
import {
  closeSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeSync,
} from "node:fs";

import {
  encodePageHeader,
  encodeRawClick,
  PAGE_BYTES_MAX,
  PAGE_CLICKS_MAX,
  PAGE_HEADER_BYTES,
  type PageId,
  type RawClick,
  RECORD_BYTES_MAX,
} from "../../shared/contracts/click-page.ts";
import { newUuid, type Uuid } from "../../shared/ids.ts";
import { adoptPages, pagePath, type SealedPage } from "./files.ts";

/**
 * A page is sealed at this age, however few clicks it holds. It bounds how late a click is seen, and what a
 * loss of power costs; and as a page is an insert, how many inserts a redirector without much to do makes.
 */
const PAGE_AGE_MAX_MS = 250;

/**
 * Empty files kept for pages to come. A file system is slow to make a file while many are being deleted (ext4
 * looks through all that were in the last five seconds), and the redirect that needs it would wait.
 */
const SPARES_MAX = 64;

/** Why a click could not be recorded. */
export const DROP_REASONS = ["journal_full", "disk_error"] as const;

type DropReason = (typeof DROP_REASONS)[number];

type JournalStats = {
  /** Clicks taken in, and clicks lost by reason, since the start. */
  recorded: number;
  dropped: Record<DropReason, number>;
  /** Bytes on disk that wait for their acknowledgement. */
  pendingBytes: number;
};

export type Journal = {
  /** What its pages are numbered under. */
  id: Uuid;
  /** Takes a click in. */
  append(click: RawClick): void;
  /** Writes what was taken in. */
  commit(): void;
  /** Tells that a sealed page's file is empty. */
  released(page: Pick<SealedPage, "bytes" | "path">): void;
  stats(): JournalStats;
  /** Seals the page being written; nothing may be appended, and no file used again, afterwards. */
  close(): void;
};

type JournalOptions = {
  dir: string;
  bytesMax: number;
  /** Told of every page that is ready to be published, those of earlier processes first. */
  onSealed: (page: SealedPage) => void;
  onError: (error: unknown) => void;
  onForeign: (name: string) => void;
};

type OpenPage = PageId & { fd: number; end: number; clicks: number; openedAt: number };

/** Opens the journal in `dir`, which must be this process's alone. Throws when it cannot be used. */
export function openJournal({
  dir,
  bytesMax,
  onSealed,
  onError,
  onForeign,
}: JournalOptions): Journal {
  // Addresses of people are in there until a page is delivered.
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  // Random, never a host name or a process id: a repeated id would make new clicks look like old ones.
  const journalId = newUuid();
  const batch = Buffer.allocUnsafe(PAGE_BYTES_MAX);
  let batchEnd = 0;
  let batchClicks = 0;
  const stats: JournalStats = {
    recorded: 0,
    dropped: { journal_full: 0, disk_error: 0 },
    pendingBytes: 0,
  };
  const spares: string[] = [];
  let open: OpenPage | undefined;
  let nextPage = 0;

  const { pages, foreign } = adoptPages(dir);
  foreign.forEach(onForeign);
  for (const page of pages) {
    stats.pendingBytes += page.bytes;
    onSealed(page);
  }

  function openPage(): OpenPage {
    const id = { journalId, page: nextPage };
    const path = pagePath(dir, id, "open");
    const fd = makeFile(path);
    try {
      if (writeSync(fd, encodePageHeader(id)) !== PAGE_HEADER_BYTES)
        throw new Error("Short write.");
    } catch (error) {
      closeSync(fd);
      unlinkSync(path);
      throw error;
    }
    nextPage++;
    stats.pendingBytes += PAGE_HEADER_BYTES;
    return { ...id, fd, end: PAGE_HEADER_BYTES, clicks: 0, openedAt: Date.now() };
  }

  function makeFile(path: string): number {
    const spare = spares.pop();
    if (spare !== undefined) {
      try {
        renameSync(spare, path);
        return openSync(path, "r+");
      } catch (error) {
        onError(error);
        remove(path);
      }
    }
    return openSync(path, "wx", 0o600);
  }

  function release({ bytes, path }: Pick<SealedPage, "bytes" | "path">): void {
    stats.pendingBytes -= bytes;
    if (spares.length < SPARES_MAX) spares.push(path);
    else remove(path);
  }

  function remove(path: string): void {
    // It may have been deleted by whoever emptied it, on its way out.
    try {
      rmSync(path, { force: true });
    } catch (error) {
      onError(error);
    }
  }

  function seal(): void {
    if (open === undefined) return;
    const { fd, end, clicks, openedAt: _, ...id } = open;
    open = undefined;
    try {
      closeSync(fd);
      const path = pagePath(dir, id, "page");
      renameSync(pagePath(dir, id, "open"), path);
      onSealed({ ...id, path, bytes: end, clicks });
    } catch (error) {
      // The file stays, and the next start of a process adopts it.
      onError(error);
    }
  }

  function append(click: RawClick): void {
    if (stats.pendingBytes + batchEnd + RECORD_BYTES_MAX > bytesMax) {
      stats.dropped.journal_full++;
      return;
    }
    batchEnd = encodeRawClick(batch, batchEnd, click);
    batchClicks++;
    const clicks = (open?.clicks ?? 0) + batchClicks;
    const bytes = (open?.end ?? PAGE_HEADER_BYTES) + batchEnd;
    if (clicks >= PAGE_CLICKS_MAX || bytes + RECORD_BYTES_MAX > PAGE_BYTES_MAX) {
      commit();
      seal();
    }
  }

  function commit(): void {
    if (batchClicks === 0) return;
    try {
      open ??= openPage();
      if (writeSync(open.fd, batch, 0, batchEnd, open.end) !== batchEnd)
        throw new Error("Short write.");
      open.end += batchEnd;
      open.clicks += batchClicks;
      stats.recorded += batchClicks;
      stats.pendingBytes += batchEnd;
    } catch (error) {
      onError(error);
      stats.dropped.disk_error += batchClicks;
      if (open !== undefined) cutTail(open);
      seal();
    }
    batchEnd = 0;
    batchClicks = 0;
  }

  const timer = setInterval(() => {
    if (open !== undefined && Date.now() - open.openedAt >= PAGE_AGE_MAX_MS) seal();
  }, PAGE_AGE_MAX_MS / 5);

  return {
    id: journalId,
    append,
    commit,
    released: release,
    stats: () => stats,
    close() {
      clearInterval(timer);
      commit();
      seal();
      for (const spare of spares.splice(0)) remove(spare);
    },
  };
}

/** Drops half a batch behind the last whole one; should that fail too, readers stop there anyway. */
function cutTail({ fd, end }: OpenPage): void {
  try {
    ftruncateSync(fd, end);
  } catch {
    // The disk is failing: the page ends at the torn record by its checksum.
  }
}
