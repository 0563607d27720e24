/** Handles segments whose files cannot be read: retries each several times, then quarantines it. */
import { quarantineSegment } from "../../shared/clicks/quarantine.ts";
import { formatSegmentId } from "../../shared/contracts/click-segment.ts";
import type { Log } from "../../shared/log.ts";
import type { SealedSegment } from "./files.ts";

/**
 * Maximum attempts to read a segment's file before it is quarantined, and the time between two
 * attempts, in which other segments are published. A disk error that passes within four seconds has
 * no effect.
 */
const READ_ATTEMPTS_MAX = 5;
const READ_RETRY_MS = 1_000;

type UnreadableDeps = {
  /** Publishes a segment after other waiting segments. */
  requeue: (segment: SealedSegment) => void;
  /** Called when a segment is quarantined. */
  onQuarantined: (segment: SealedSegment) => void;
  log: Log;
};

export function createUnreadableSegments({ requeue, onQuarantined, log }: UnreadableDeps) {
  /** Failed attempts to read a file, by its path. */
  const failures = new Map<string, number>();
  return {
    /**
     * Requeues the segment after a delay, so that others are published first; after the last
     * attempt, quarantines it.
     */
    onFailure(segment: SealedSegment, error: unknown): void {
      const { path } = segment;
      const attempts = (failures.get(path) ?? 0) + 1;
      const id = formatSegmentId(segment);
      if (attempts < READ_ATTEMPTS_MAX) {
        log.warn({ error, segment: id, attempts }, "segment_unreadable");
        failures.set(path, attempts);
        setTimeout(() => requeue(segment), READ_RETRY_MS).unref();
        return;
      }
      failures.delete(path);
      try {
        log.error({ error, segment: id, path: quarantineSegment(path) }, "segment_quarantined");
      } catch (cause) {
        // The file stays in the journal; the next process tries to read it.
        log.error({ error, segment: id, cause }, "segment_quarantine_failed");
      }
      onQuarantined(segment);
    },
    /** Resets the failures of a segment that was read. */
    forget: ({ path }: SealedSegment): void => void failures.delete(path),
  };
}
