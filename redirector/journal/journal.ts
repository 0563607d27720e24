/**
 * The click journal. A click is in the file system before its redirect is sent, so killing this process loses
 * none. Clicks of requests that arrive together are written together: `append` buffers a click, `commit` writes
 * all buffered clicks, and their redirects may be sent only after that. Clicks are divided into numbered segments
 * here, before anything is published.
 *
 * While redirects are served, the journal never throws and never waits: a full disk or a full journal drops
 * clicks, counted by reason, and never fails a redirect.
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

import { countQuarantine, quarantineBytes } from "../../shared/clicks/quarantine.ts";
import {
  encodeRawClick,
  encodeSegmentHeader,
  type RawClick,
  RECORD_BYTES_MAX,
  SEGMENT_BYTES_MAX,
  SEGMENT_CLICKS_MAX,
  SEGMENT_HEADER_BYTES,
  type SegmentId,
} from "../../shared/contracts/click-segment.ts";
import { newUuid, type Uuid } from "../../shared/ids.ts";
import { recoverSegments, type SealedSegment, segmentPath } from "./files.ts";

/**
 * A segment is sealed at this age, however few clicks it holds. The age bounds how late a click shows up, how many
 * clicks a power failure loses, and how many segments per second a redirector with little traffic publishes.
 */
const SEGMENT_AGE_MAX_MS = 250;

/**
 * Empty files kept for later segments. A file system creates files slowly while many are being deleted (ext4
 * scans all that were deleted in the last five seconds), and the redirect that needs the file would wait.
 */
const FREE_FILES_MAX = 64;

/** Why a click was dropped. */
type DropReason = "journal_full" | "disk_error";

type JournalStats = {
  /** Clicks written, and clicks dropped by reason, since the start. */
  recorded: number;
  dropped: Record<DropReason, number>;
  /** Bytes on disk: of segments that JetStream has not acknowledged, that are retained, or in quarantine. */
  pendingBytes: number;
  /** Files quarantined at the start because they could not be read. */
  quarantined: number;
};

export type Journal = {
  /** With a segment's number, this makes up the segment's id. */
  id: Uuid;
  /** Buffers a click; seals the segment when it is full. */
  append(click: RawClick): void;
  /** Writes the buffered clicks. */
  commit(): void;
  /** Reuses or deletes the file of a sealed segment, which the caller has truncated. */
  recycle(segment: Pick<SealedSegment, "bytes" | "path">): void;
  stats(): JournalStats;
  /** Number of files in the quarantine now. */
  countQuarantine(): Promise<number>;
  /** Seals the open segment. Neither `append` nor `recycle` may be called afterwards. */
  close(): void;
};

type JournalOptions = {
  dir: string;
  bytesMax: number;
  /** Called with every segment that is ready to be published, first those recovered from earlier processes. */
  onSealed: (segment: SealedSegment) => void;
  onError: (error: unknown) => void;
  /** Called with the name of a file in the directory that holds no segment, or not the one it is named after. */
  onUnknownFile: (name: string) => void;
};

type OpenSegment = SegmentId & { fd: number; end: number; clicks: number; openedAt: number };

/** Opens the journal in `dir`, which only this process may use. Throws when the directory cannot be used. */
export function openJournal({
  dir,
  bytesMax,
  onSealed,
  onError,
  onUnknownFile,
}: JournalOptions): Journal {
  // Segments hold people's IP addresses until they are delivered.
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  // Random, never a host name or a process id: with a repeated id, new clicks would be discarded as duplicates.
  const journalId = newUuid();
  const batch = Buffer.allocUnsafe(SEGMENT_BYTES_MAX);
  let batchEnd = 0;
  let batchClicks = 0;
  const stats: JournalStats = {
    recorded: 0,
    dropped: { journal_full: 0, disk_error: 0 },
    pendingBytes: 0,
    quarantined: 0,
  };
  const freeFiles: string[] = [];
  let open: OpenSegment | undefined;
  let nextSegment = 0;

  const { segments, unknown, unreadable } = recoverSegments(dir);
  unknown.forEach(onUnknownFile);
  unreadable.forEach(onError);
  stats.quarantined = unreadable.length;
  stats.pendingBytes += quarantineBytes(dir);
  for (const segment of segments) {
    stats.pendingBytes += segment.bytes;
    onSealed(segment);
  }

  function openSegment(): OpenSegment {
    const id = { journalId, segment: nextSegment };
    const path = segmentPath(dir, id, "open");
    const fd = createFile(path);
    try {
      if (writeSync(fd, encodeSegmentHeader(id)) !== SEGMENT_HEADER_BYTES)
        throw new Error("Short write.");
    } catch (error) {
      closeSync(fd);
      unlinkSync(path);
      throw error;
    }
    nextSegment++;
    stats.pendingBytes += SEGMENT_HEADER_BYTES;
    return { ...id, fd, end: SEGMENT_HEADER_BYTES, clicks: 0, openedAt: performance.now() };
  }

  function createFile(path: string): number {
    const freeFile = freeFiles.pop();
    if (freeFile !== undefined) {
      try {
        renameSync(freeFile, path);
        return openSync(path, "r+");
      } catch (error) {
        onError(error);
        removeFile(path);
      }
    }
    return openSync(path, "wx", 0o600);
  }

  function recycleFile({ bytes, path }: Pick<SealedSegment, "bytes" | "path">): void {
    stats.pendingBytes -= bytes;
    if (freeFiles.length < FREE_FILES_MAX) freeFiles.push(path);
    else removeFile(path);
  }

  function removeFile(path: string): void {
    // A publisher that stops has deleted it already.
    try {
      rmSync(path, { force: true });
    } catch (error) {
      onError(error);
    }
  }

  function sealSegment(): void {
    if (open === undefined) return;
    const { fd, end, clicks, openedAt: _, ...id } = open;
    open = undefined;
    try {
      closeSync(fd);
      const path = segmentPath(dir, id, "segment");
      renameSync(segmentPath(dir, id, "open"), path);
      onSealed({ ...id, path, bytes: end, clicks });
    } catch (error) {
      // The file stays; the next process recovers it.
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
    const bytes = (open?.end ?? SEGMENT_HEADER_BYTES) + batchEnd;
    if (clicks >= SEGMENT_CLICKS_MAX || bytes + RECORD_BYTES_MAX > SEGMENT_BYTES_MAX) {
      commit();
      sealSegment();
    }
  }

  function commit(): void {
    if (batchClicks === 0) return;
    try {
      open ??= openSegment();
      if (writeSync(open.fd, batch, 0, batchEnd, open.end) !== batchEnd)
        throw new Error("Short write.");
      open.end += batchEnd;
      open.clicks += batchClicks;
      stats.recorded += batchClicks;
      stats.pendingBytes += batchEnd;
    } catch (error) {
      onError(error);
      stats.dropped.disk_error += batchClicks;
      if (open !== undefined) truncateTail(open);
      sealSegment();
    }
    batchEnd = 0;
    batchClicks = 0;
  }

  const timer = setInterval(() => {
    if (open !== undefined && performance.now() - open.openedAt >= SEGMENT_AGE_MAX_MS)
      sealSegment();
  }, SEGMENT_AGE_MAX_MS / 5);

  return {
    id: journalId,
    append,
    commit,
    recycle: recycleFile,
    stats: () => stats,
    countQuarantine: () => countQuarantine(dir),
    close() {
      clearInterval(timer);
      commit();
      sealSegment();
      for (const path of freeFiles.splice(0)) removeFile(path);
    },
  };
}

/** Truncates a partly written batch. If that fails too, readers stop at the torn record. */
function truncateTail({ fd, end }: OpenSegment): void {
  try {
    ftruncateSync(fd, end);
  } catch {
    // The disk is failing. The torn record's checksum does not match, which ends the segment.
  }
}
