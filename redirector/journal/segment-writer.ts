/** Writes clicks to the file of the open segment, and seals it. */
import {
  closeSync,
  ftruncateSync,
  openSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeSync,
} from "node:fs";

import {
  encodeSegmentHeader,
  SEGMENT_HEADER_BYTES,
  type SegmentId,
} from "../../shared/contracts/click-segment.ts";
import type { Uuid } from "../../shared/ids.ts";
import { type SealedSegment, segmentPath } from "./files.ts";

/**
 * Maximum empty files kept for later segments. A file system creates files slowly while many are
 * being deleted (ext4 scans all that were deleted in the last five seconds), and the redirect that
 * needs the file would wait.
 */
const FREE_FILES_MAX = 64;

/** What a journal tells the process. */
export interface JournalEvents {
  /** A segment is ready to be published; first those recovered from earlier processes. */
  sealed(segment: SealedSegment): void;
  failed(error: unknown): void;
  /** A file in the directory holds no segment, or a segment with a different name. */
  unknownFile(name: string): void;
}

type OpenSegment = SegmentId & { fd: number; end: number; clicks: number; openedAt: number };

export class SegmentWriter {
  readonly #dir: string;
  readonly #journalId: Uuid;
  readonly #events: JournalEvents;
  /** Paths of empty files. */
  readonly #freeFiles: string[] = [];
  #open: OpenSegment | undefined;
  #nextSegment = 0;

  constructor(dir: string, journalId: Uuid, events: JournalEvents) {
    this.#dir = dir;
    this.#journalId = journalId;
    this.#events = events;
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

  /** Whether a segment has been open for `ms` or longer. */
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

  /** Seals the open segment, if there is one. */
  seal(): void {
    if (this.#open === undefined) return;
    const { fd, end, clicks, openedAt: _, ...id } = this.#open;
    this.#open = undefined;
    try {
      closeSync(fd);
      const path = segmentPath(this.#dir, id, "segment");
      renameSync(segmentPath(this.#dir, id, "open"), path);
      this.#events.sealed({ ...id, path, bytes: end, clicks });
    } catch (error) {
      // The file stays; the next process recovers it.
      this.#events.failed(error);
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

  /** Removes the files kept for later segments. */
  removeFreeFiles(): void {
    for (const path of this.#freeFiles.splice(0)) this.#remove(path);
  }

  /**
   * Creates an empty file, from a free one if there is one; returns its descriptor. Throws when the
   * disk does not allow it.
   */
  #createFile(path: string): number {
    const free = this.#freeFiles.pop();
    if (free !== undefined) {
      try {
        renameSync(free, path);
        return openSync(path, "r+");
      } catch (error) {
        this.#events.failed(error);
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
      this.#events.failed(error);
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
