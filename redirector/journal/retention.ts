/**
 * Retains the files of acknowledged segments for a while: a NATS server that loses power or is
 * restored from a backup loses messages that it has acknowledged.
 */
import { ACKED_RETENTION_MS } from "../../shared/contracts/click-segment.ts";
import type { SealedSegment } from "./files.ts";

/** Beyond these bytes the oldest acknowledged segments are removed sooner. */
const ACKED_RETENTION_BYTES_MAX = 256 * 1024 ** 2;

/**
 * Maximum share of the journal for acknowledged and waiting segments together; acknowledged ones
 * are removed first. The rest is for clicks recorded before the next sweep.
 */
const RETENTION_SHARE = 0.5;

/** The value of `until` while a retained segment is being published again. */
const REPUBLISHING = -1;

export class Retention {
  readonly #journalBytesMax: number;
  /** Acknowledged segments whose files still exist, by path; the oldest first. */
  readonly #retained = new Map<string, { segment: SealedSegment; until: number }>();
  #ackedBytes = 0;
  /** Bytes of segments that wait to be published, for the first time or again. */
  #waitingBytes = 0;

  constructor(journalBytesMax: number) {
    this.#journalBytesMax = journalBytesMax;
  }

  addWaiting({ bytes }: SealedSegment): void {
    this.#waitingBytes += bytes;
  }

  /** Retains an acknowledged segment; returns whether this was its first acknowledgement. */
  retain(segment: SealedSegment): boolean {
    const isFirst = !this.#retained.has(segment.path);
    const until = performance.now() + ACKED_RETENTION_MS;
    this.#retained.set(segment.path, { segment, until });
    this.#ackedBytes += segment.bytes;
    this.#waitingBytes -= segment.bytes;
    return isFirst;
  }

  /** Removes a segment that will not be published; returns whether it was acknowledged before. */
  forget({ path, bytes }: SealedSegment): boolean {
    this.#waitingBytes -= bytes;
    return this.#retained.delete(path);
  }

  /**
   * Takes retained segments that have expired or exceed the bound of bytes, the oldest first. The
   * caller releases each before the next.
   */
  *takeExpired(now: number): Generator<SealedSegment> {
    for (const { segment, until } of this.#retained.values()) {
      if (until > now && this.#hasRoom()) return;
      if (until === REPUBLISHING) continue;
      this.#retained.delete(segment.path);
      this.#ackedBytes -= segment.bytes;
      yield segment;
    }
  }

  /** Returns all retained segments, to be published again. */
  startRepublishing(): SealedSegment[] {
    const segments: SealedSegment[] = [];
    for (const [path, { segment, until }] of this.#retained) {
      if (until === REPUBLISHING) continue;
      this.#retained.set(path, { segment, until: REPUBLISHING });
      this.#ackedBytes -= segment.bytes;
      this.#waitingBytes += segment.bytes;
      segments.push(segment);
    }
    return segments;
  }

  /** Whether the acknowledged segments may all be retained. */
  #hasRoom(): boolean {
    const bytesMax = Math.min(
      ACKED_RETENTION_BYTES_MAX,
      this.#journalBytesMax * RETENTION_SHARE - this.#waitingBytes,
    );
    return this.#ackedBytes === 0 || this.#ackedBytes <= bytesMax;
  }
}
