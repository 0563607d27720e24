/**
 * The click journal. A click is in the file system before its redirect is sent, so killing this
 * process loses none. Clicks of requests that arrive together are written together: `append`
 * buffers a click, `commit` writes all buffered clicks, and their redirects may be sent only after
 * that. Clicks are divided into numbered segments here, before anything is published.
 *
 * While redirects are served, the journal never throws and never waits: a full disk or a full
 * journal drops clicks, counted by reason, and never fails a redirect.
 */
import {
  closeSync,
  ftruncateSync,
  openSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeSync,
} from "node:fs";

import { countQuarantine, quarantineBytes } from "../../shared/clicks/quarantine.ts";
import {
  encodeClick,
  RECORD_BYTES_MAX,
  type RequestClick,
} from "../../shared/contracts/click-record.ts";
import {
  encodeSegmentHeader,
  SEGMENT_BYTES_MAX,
  SEGMENT_CLICKS_MAX,
  SEGMENT_HEADER_BYTES,
  type SegmentId,
} from "../../shared/contracts/click-segment.ts";
import { newUuid, type Uuid } from "../../shared/ids.ts";
import type { Log } from "../../shared/log.ts";
import { recoverSegments, type SealedSegment, segmentPath } from "./files.ts";

/**
 * A segment is sealed at this age, however few clicks it holds. The age bounds how late a click is
 * published, how many clicks a power failure loses, and how many segments per second a redirector
 * with little traffic publishes.
 */
const SEGMENT_AGE_MAX_MS = 250;

/**
 * Maximum empty files kept for later segments. A file system creates files slowly while many are
 * being deleted (ext4 scans all that were deleted in the last five seconds), and the redirect that
 * needs the file would wait.
 */
const FREE_FILES_MAX = 64;

/** Publishes sealed segments: `PublisherThread`. */
export interface SegmentPublisher {
  /** Queues a segment; first those recovered from earlier processes. */
  add(segment: SealedSegment): void;
}

/** Where the clicks of requests go. */
export interface ClickLog {
  append(click: RequestClick): void;
  /** Writes the buffered clicks. */
  commit(): void;
}

export class Journal implements ClickLog {
  /**
   * With a segment's number, this makes up the segment's id. Random, never a host name or a process
   * id: with a reused id, new clicks would be discarded as duplicates.
   */
  readonly id: Uuid = newUuid();
  readonly #dir: string;
  readonly #bytesMax: number;
  readonly #publisher: SegmentPublisher;
  readonly #log: Log;
  readonly #writer: SegmentWriter;
  readonly #timer: Timer;
  readonly #batch = Buffer.allocUnsafe(SEGMENT_BYTES_MAX);
  #batchEnd = 0;
  #batchClicks = 0;
  /** Bytes on disk: of segments that are unacknowledged, retained or in quarantine. */
  #pendingBytes: number;
  #recorded = 0;
  readonly #dropped = { journal_full: 0, disk_error: 0 };
  #quarantined = 0;

  /** Opens the journal in a folder that this process has locked. Throws when it cannot be used. */
  constructor(dir: string, bytesMax: number, publisher: SegmentPublisher, log: Log) {
    this.#dir = dir;
    this.#bytesMax = bytesMax;
    this.#publisher = publisher;
    this.#log = log;
    this.#pendingBytes = quarantineBytes(dir);
    this.#recover();
    this.#writer = new SegmentWriter(dir, this.id, publisher, log);
    this.#timer = setInterval(() => {
      if (this.#writer.isOlderThan(SEGMENT_AGE_MAX_MS)) this.#writer.seal();
    }, SEGMENT_AGE_MAX_MS / 5);
  }

  /** Buffers a click; seals the segment when it is full. */
  append(click: RequestClick): void {
    if (this.#pendingBytes + this.#batchEnd + RECORD_BYTES_MAX > this.#bytesMax) {
      this.#dropped.journal_full++;
      return;
    }
    this.#batchEnd = encodeClick(this.#batch, this.#batchEnd, click);
    this.#batchClicks++;
    const clicks = this.#writer.clicks + this.#batchClicks;
    const bytes = this.#writer.bytes + this.#batchEnd;
    if (clicks >= SEGMENT_CLICKS_MAX || bytes + RECORD_BYTES_MAX > SEGMENT_BYTES_MAX) {
      this.commit();
      this.#writer.seal();
    }
  }

  commit(): void {
    if (this.#batchClicks === 0) return;
    try {
      if (!this.#writer.isOpen) {
        this.#writer.open();
        this.#pendingBytes += SEGMENT_HEADER_BYTES;
      }
      this.#writer.write(this.#batch, this.#batchEnd, this.#batchClicks);
      this.#recorded += this.#batchClicks;
      this.#pendingBytes += this.#batchEnd;
    } catch (error) {
      this.#log.error({ error }, "journal_failed");
      this.#dropped.disk_error += this.#batchClicks;
      this.#writer.sealFailed();
    }
    this.#batchEnd = 0;
    this.#batchClicks = 0;
  }

  /** Reuses or deletes the file of a sealed segment, which the publisher has truncated. */
  recycle({ bytes, path }: SealedSegment): void {
    this.#pendingBytes -= bytes;
    this.#writer.recycle(path);
  }

  /** Clicks written, dropped by reason; bytes on disk; files quarantined at the start. */
  stats() {
    return {
      recorded: this.#recorded,
      dropped: this.#dropped,
      pendingBytes: this.#pendingBytes,
      quarantined: this.#quarantined,
    };
  }

  countQuarantine(): Promise<number> {
    return countQuarantine(this.#dir);
  }

  /** Seals the open segment. Neither `append` nor `recycle` may be called afterwards. */
  close(): void {
    clearInterval(this.#timer);
    this.commit();
    this.#writer.seal();
    this.#writer.removeFreeFiles();
  }

  #recover(): void {
    const { segments, unknown, unreadable, unchangeable } = recoverSegments(this.#dir);
    for (const file of unknown) this.#log.warn(file, "journal_unknown_file");
    for (const error of [...unreadable, ...unchangeable])
      this.#log.error({ error }, "journal_failed");
    this.#quarantined = unreadable.length;
    for (const segment of segments) {
      this.#pendingBytes += segment.bytes;
      this.#publisher.add(segment);
    }
  }
}

type OpenSegment = SegmentId & { fd: number; end: number; clicks: number; openedAt: number };

class SegmentWriter {
  readonly #dir: string;
  readonly #journalId: Uuid;
  readonly #publisher: SegmentPublisher;
  readonly #log: Log;
  readonly #freeFiles: string[] = [];
  #open: OpenSegment | undefined;
  #nextSegment = 0;

  constructor(dir: string, journalId: Uuid, publisher: SegmentPublisher, log: Log) {
    this.#dir = dir;
    this.#journalId = journalId;
    this.#publisher = publisher;
    this.#log = log;
  }

  get isOpen(): boolean {
    return this.#open !== undefined;
  }

  /** Clicks of the open segment; 0 when none is open. */
  get clicks(): number {
    return this.#open?.clicks ?? 0;
  }

  /** Bytes of the open segment; those of an empty one when none is open. */
  get bytes(): number {
    return this.#open?.end ?? SEGMENT_HEADER_BYTES;
  }

  isOlderThan(ms: number): boolean {
    return this.#open !== undefined && performance.now() - this.#open.openedAt >= ms;
  }

  /** Opens the next segment. Throws when its file cannot be written. */
  open(): void {
    const id = { journalId: this.#journalId, segment: this.#nextSegment };
    const path = segmentPath(this.#dir, id, "open");
    const fd = this.#createFile(path);
    try {
      if (writeSync(fd, encodeSegmentHeader(id)) !== SEGMENT_HEADER_BYTES)
        throw new Error("Short write.");
    } catch (error) {
      closeSync(fd);
      unlinkSync(path);
      throw error;
    }
    this.#open = {
      ...id,
      fd,
      end: SEGMENT_HEADER_BYTES,
      clicks: 0,
      openedAt: performance.now(),
    };
    this.#nextSegment++;
  }

  /** Writes encoded clicks to the open segment. Throws when they were not written completely. */
  write(bytes: Buffer, end: number, clicks: number): void {
    const open = this.#open;
    if (open === undefined) throw new Error("No segment is open.");
    if (writeSync(open.fd, bytes, 0, end, open.end) !== end) throw new Error("Short write.");
    open.end += end;
    open.clicks += clicks;
  }

  seal(): void {
    if (this.#open === undefined) return;
    const { fd, end, clicks, openedAt: _, ...id } = this.#open;
    this.#open = undefined;
    try {
      closeSync(fd);
      const path = segmentPath(this.#dir, id, "segment");
      renameSync(segmentPath(this.#dir, id, "open"), path);
      this.#publisher.add({ ...id, path, bytes: end, clicks });
    } catch (error) {
      // The file stays; the next process recovers it.
      this.#log.error({ error }, "journal_failed");
    }
  }

  /** Seals the open segment, with its earlier content, after a failed write. */
  sealFailed(): void {
    if (this.#open !== undefined) truncateTail(this.#open);
    this.seal();
  }

  /** Keeps an empty file for a later segment, or removes it. */
  recycle(path: string): void {
    if (this.#freeFiles.length < FREE_FILES_MAX) this.#freeFiles.push(path);
    else this.#remove(path);
  }

  removeFreeFiles(): void {
    for (const path of this.#freeFiles.splice(0)) this.#remove(path);
  }

  /** Opens an empty file, a free one if there is one. Throws when the disk does not allow it. */
  #createFile(path: string): number {
    const free = this.#freeFiles.pop();
    if (free !== undefined) {
      try {
        renameSync(free, path);
        return openSync(path, "r+");
      } catch (error) {
        this.#log.error({ error }, "journal_failed");
        this.#remove(path);
      }
    }
    return openSync(path, "wx", 0o600);
  }

  #remove(path: string): void {
    // A stopping publisher has already deleted it.
    try {
      rmSync(path, { force: true });
    } catch (error) {
      this.#log.error({ error }, "journal_failed");
    }
  }
}

/** Truncates a partly written batch. If that fails too, readers stop at the torn record. */
function truncateTail({ fd, end }: OpenSegment): void {
  try {
    ftruncateSync(fd, end);
  } catch {
    // The disk is failing. The torn record's checksum does not match, which ends the segment.
  }
}
