/**
 * Retains the files of acknowledged segments for a while: a NATS server that loses power or is
 * restored from a backup loses messages that it has acknowledged.
 */
import type { SealedSegment } from "./files.ts";

/** Longer than the interval at which NATS syncs to disk by default (`sync_interval`, 2 minutes). */
const ACKED_RETENTION_MS = 150_000;

/** Beyond these bytes the oldest acknowledged segments are removed sooner. */
const ACKED_RETENTION_BYTES_MAX = 256 * 1024 ** 2;

/**
 * Maximum share of the journal for acknowledged and waiting segments together; acknowledged ones
 * are removed first. The rest is for clicks recorded before the next sweep.
 */
const RETENTION_SHARE = 0.5;

/** The value of `until` while a retained segment is being published again. */
const REPUBLISHING = -1;

type RetentionDeps = {
  /** The maximum size of the journal. */
  journalBytesMax: number;
  /** Called when a segment's file is truncated or deleted. */
  onReleased: (segment: SealedSegment) => void;
};

export function createRetention({ journalBytesMax, onReleased }: RetentionDeps) {
  /** Acknowledged segments whose files still exist, by path; the oldest first. */
  const retained = new Map<string, { segment: SealedSegment; until: number }>();
  let ackedBytes = 0;
  /** Bytes of segments that wait to be published, for the first time or again. */
  let waitingBytes = 0;

  /** Bytes of acknowledged segments that may currently be retained. */
  const retainableBytes = (): number =>
    Math.min(ACKED_RETENTION_BYTES_MAX, journalBytesMax * RETENTION_SHARE - waitingBytes);

  return {
    /** Counts a segment that waits to be published. */
    addWaiting: ({ bytes }: SealedSegment): void => void (waitingBytes += bytes),
    /** Retains an acknowledged segment; returns whether this was its first acknowledgement. */
    retain(segment: SealedSegment): boolean {
      const isFirst = !retained.has(segment.path);
      retained.set(segment.path, { segment, until: performance.now() + ACKED_RETENTION_MS });
      ackedBytes += segment.bytes;
      waitingBytes -= segment.bytes;
      return isFirst;
    },
    /** Removes a segment that will not be published; returns whether it was acknowledged before. */
    forget({ path, bytes }: SealedSegment): boolean {
      waitingBytes -= bytes;
      return retained.delete(path);
    },
    /**
     * Releases retained segments that have expired or exceed the bound of bytes, the oldest first.
     */
    async sweep(now: number, removeFile: (path: string) => Promise<void>): Promise<void> {
      for (const { segment, until } of retained.values()) {
        if (until > now && (ackedBytes === 0 || ackedBytes <= retainableBytes())) return;
        if (until === REPUBLISHING) continue;
        retained.delete(segment.path);
        ackedBytes -= segment.bytes;
        await removeFile(segment.path);
        onReleased(segment);
      }
    },
    /** Returns all retained segments, to be published again. */
    startRepublishing(): SealedSegment[] {
      const segments: SealedSegment[] = [];
      for (const [path, { segment, until }] of retained) {
        if (until === REPUBLISHING) continue;
        retained.set(path, { segment, until: REPUBLISHING });
        ackedBytes -= segment.bytes;
        waitingBytes += segment.bytes;
        segments.push(segment);
      }
      return segments;
    },
  };
}
