/**
 * The click journal. A click is in the file system before its redirect is sent, so killing this
 * process loses none. Clicks of requests that arrive together are written together: `append`
 * buffers a click, `commit` writes all buffered clicks, and their redirects may be sent only after
 * that. Clicks are divided into numbered segments here, before anything is published.
 *
 * While redirects are served, the journal never throws and never waits: a full disk or a full
 * journal drops clicks, counted by reason, and never fails a redirect.
 */
import { mkdirSync } from "node:fs";

import { countQuarantine, quarantineBytes } from "../../shared/clicks/quarantine.ts";
import {
  encodeRawClick,
  type RawClick,
  RECORD_BYTES_MAX,
} from "../../shared/contracts/click-record.ts";
import {
  SEGMENT_BYTES_MAX,
  SEGMENT_CLICKS_MAX,
  SEGMENT_HEADER_BYTES,
} from "../../shared/contracts/click-segment.ts";
import { newUuid, type Uuid } from "../../shared/ids.ts";
import { recoverSegments, type SealedSegment } from "./files.ts";
import { createFreeFiles } from "./free-files.ts";
import { createSegmentWriter } from "./segment-writer.ts";

/**
 * A segment is sealed at this age, however few clicks it holds. The age bounds how late a click is
 * published, how many clicks a power failure loses, and how many segments per second a redirector
 * with little traffic publishes.
 */
const SEGMENT_AGE_MAX_MS = 250;

/** Why a click was dropped. */
type DropReason = "journal_full" | "disk_error";

type JournalStats = {
  /** Clicks written, and clicks dropped by reason, since the start. */
  recorded: number;
  dropped: Record<DropReason, number>;
  /** Bytes on disk: of segments that are unacknowledged, retained or in quarantine. */
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
  /** Current number of files in the quarantine. */
  countQuarantine(): Promise<number>;
  /** Seals the open segment. Neither `append` nor `recycle` may be called afterwards. */
  close(): void;
};

type JournalOptions = {
  dir: string;
  bytesMax: number;
  /**
   * Called with every segment that is ready to be published, first those recovered from earlier
   * processes.
   */
  onSealed: (segment: SealedSegment) => void;
  onError: (error: unknown) => void;
  /**
   * Called with the name of a file in the directory that holds no segment, or a segment with a
   * different name.
   */
  onUnknownFile: (name: string) => void;
};

/**
 * Opens the journal in `dir`, which only this process may use. Throws when the directory cannot be
 * used.
 */
export function openJournal(options: JournalOptions): Journal {
  const { dir, bytesMax, onSealed, onError } = options;
  // Segments hold people's IP addresses until they are delivered.
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  // Random, never a host name or a process id: with a reused id, new clicks would be discarded as
  // duplicates.
  const journalId = newUuid();
  const stats = recover(options);
  const files = createFreeFiles(onError);
  const { create: createFile } = files;
  const writer = createSegmentWriter({ dir, journalId, createFile, onSealed, onError });
  const batch = Buffer.allocUnsafe(SEGMENT_BYTES_MAX);
  let batchEnd = 0;
  let batchClicks = 0;

  function append(click: RawClick): void {
    if (stats.pendingBytes + batchEnd + RECORD_BYTES_MAX > bytesMax) {
      stats.dropped.journal_full++;
      return;
    }
    batchEnd = encodeRawClick(batch, batchEnd, click);
    batchClicks++;
    const clicks = writer.clicks() + batchClicks;
    const bytes = writer.bytes() + batchEnd;
    if (clicks >= SEGMENT_CLICKS_MAX || bytes + RECORD_BYTES_MAX > SEGMENT_BYTES_MAX) {
      commit();
      writer.seal();
    }
  }

  function commit(): void {
    if (batchClicks === 0) return;
    try {
      if (!writer.isOpen()) {
        writer.open();
        stats.pendingBytes += SEGMENT_HEADER_BYTES;
      }
      writer.write(batch, batchEnd, batchClicks);
      stats.recorded += batchClicks;
      stats.pendingBytes += batchEnd;
    } catch (error) {
      onError(error);
      stats.dropped.disk_error += batchClicks;
      writer.sealFailed();
    }
    batchEnd = 0;
    batchClicks = 0;
  }

  const timer = setInterval(() => {
    if (writer.isOlderThan(SEGMENT_AGE_MAX_MS)) writer.seal();
  }, SEGMENT_AGE_MAX_MS / 5);

  return {
    id: journalId,
    append,
    commit,
    recycle({ bytes, path }) {
      stats.pendingBytes -= bytes;
      files.recycle(path);
    },
    stats: () => stats,
    countQuarantine: () => countQuarantine(dir),
    close() {
      clearInterval(timer);
      commit();
      writer.seal();
      files.removeAll();
    },
  };
}

/** Recovers the segments of earlier processes; returns the initial stats. */
function recover({ dir, onSealed, onError, onUnknownFile }: JournalOptions): JournalStats {
  const { segments, unknown, unreadable, unchangeable } = recoverSegments(dir);
  unknown.forEach(onUnknownFile);
  [...unreadable, ...unchangeable].forEach(onError);
  let pendingBytes = quarantineBytes(dir);
  for (const segment of segments) {
    pendingBytes += segment.bytes;
    onSealed(segment);
  }
  return {
    recorded: 0,
    dropped: { journal_full: 0, disk_error: 0 },
    pendingBytes,
    quarantined: unreadable.length,
  };
}
