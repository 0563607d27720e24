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
import { tryLock } from "../../shared/process-lock.ts";
import { recoverSegments, type SealedSegment } from "./files.ts";
import { type JournalEvents, SegmentWriter } from "./segment-writer.ts";

/**
 * A segment is sealed at this age, however few clicks it holds. The age bounds how late a click is
 * published, how many clicks a power failure loses, and how many segments per second a redirector
 * with little traffic publishes.
 */
const SEGMENT_AGE_MAX_MS = 250;

/** Where the clicks of requests go. */
export interface ClickLog {
  /** Buffers a click. */
  append(click: RawClick): void;
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
  readonly #events: JournalEvents;
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

  /**
   * Opens the journal in `dir`, which only this process may use. Throws when the directory cannot
   * be used.
   */
  constructor(dir: string, bytesMax: number, events: JournalEvents) {
    // Segments hold people's IP addresses until they are delivered.
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    this.#dir = dir;
    this.#bytesMax = bytesMax;
    this.#events = events;
    this.#pendingBytes = quarantineBytes(dir);
    this.#recover();
    this.#writer = new SegmentWriter(dir, this.id, events);
    this.#timer = setInterval(() => {
      if (this.#writer.isOlderThan(SEGMENT_AGE_MAX_MS)) this.#writer.seal();
    }, SEGMENT_AGE_MAX_MS / 5);
  }

  /** Buffers a click; seals the segment when it is full. */
  append(click: RawClick): void {
    if (this.#pendingBytes + this.#batchEnd + RECORD_BYTES_MAX > this.#bytesMax) {
      this.#dropped.journal_full++;
      return;
    }
    this.#batchEnd = encodeRawClick(this.#batch, this.#batchEnd, click);
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
      this.#events.failed(error);
      this.#dropped.disk_error += this.#batchClicks;
      this.#writer.sealFailed();
    }
    this.#batchEnd = 0;
    this.#batchClicks = 0;
  }

  /** Reuses or deletes the file of a sealed segment, which the caller has truncated. */
  recycle({ bytes, path }: SealedSegment): void {
    this.#pendingBytes -= bytes;
    this.#writer.recycle(path);
  }

  /**
   * Clicks written, and clicks dropped by reason, since the start; bytes on disk; files quarantined
   * at the start because they could not be read.
   */
  stats() {
    return {
      recorded: this.#recorded,
      dropped: this.#dropped,
      pendingBytes: this.#pendingBytes,
      quarantined: this.#quarantined,
    };
  }

  /** Current number of files in the quarantine. */
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

  /** Recovers the segments of earlier processes. */
  #recover(): void {
    const events = this.#events;
    const { segments, unknown, unreadable, unchangeable } = recoverSegments(this.#dir);
    for (const name of unknown) events.unknownFile(name);
    for (const error of [...unreadable, ...unchangeable]) events.failed(error);
    this.#quarantined = unreadable.length;
    for (const segment of segments) {
      this.#pendingBytes += segment.bytes;
      events.sealed(segment);
    }
  }
}

/**
 * Locks a journal until the process ends: two processes would recover each other's open segments.
 * Throws when another one holds the lock.
 */
export function lockJournal(dir: string): void {
  if (tryLock("journal", dir) === undefined)
    throw new Error(`Another redirector has the journal in ${dir}: each needs one of its own.`);
}
