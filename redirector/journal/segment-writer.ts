/** Writes clicks to the file of the open segment, and seals it. */
import { closeSync, ftruncateSync, renameSync, unlinkSync, writeSync } from "node:fs";

import {
  encodeSegmentHeader,
  SEGMENT_HEADER_BYTES,
  type SegmentId,
} from "../../shared/contracts/click-segment.ts";
import type { Uuid } from "../../shared/ids.ts";
import { type SealedSegment, segmentPath } from "./files.ts";

type OpenSegment = SegmentId & { fd: number; end: number; clicks: number; openedAt: number };

type WriterDeps = {
  dir: string;
  journalId: Uuid;
  /** Creates an empty file and returns its descriptor. */
  createFile: (path: string) => number;
  /** Called with every sealed segment. */
  onSealed: (segment: SealedSegment) => void;
  onError: (error: unknown) => void;
};

export function createSegmentWriter(deps: WriterDeps) {
  const { dir, journalId, createFile, onSealed, onError } = deps;
  let open: OpenSegment | undefined;
  let nextSegment = 0;

  function seal(): void {
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

  return {
    /**
     * Clicks of the open segment, and its bytes; 0 and the size of an empty one when none is open.
     */
    clicks: (): number => open?.clicks ?? 0,
    bytes: (): number => open?.end ?? SEGMENT_HEADER_BYTES,
    isOpen: (): boolean => open !== undefined,
    /** Whether a segment has been open for `ms` or longer. */
    isOlderThan: (ms: number): boolean =>
      open !== undefined && performance.now() - open.openedAt >= ms,
    /** Opens the next segment. Throws when its file cannot be written. */
    open(): void {
      open = openSegment(dir, { journalId, segment: nextSegment }, createFile);
      nextSegment++;
    },
    /** Writes encoded clicks to the open segment. Throws when they were not written completely. */
    write(bytes: Buffer, end: number, clicks: number): void {
      if (open === undefined) throw new Error("No segment is open.");
      if (writeSync(open.fd, bytes, 0, end, open.end) !== end) throw new Error("Short write.");
      open.end += end;
      open.clicks += clicks;
    },
    /** Seals the open segment, if there is one. */
    seal,
    /** Seals the open segment, with its earlier content, after a failed write. */
    sealFailed(): void {
      if (open !== undefined) truncateTail(open);
      seal();
    },
  };
}

function openSegment(
  dir: string,
  id: SegmentId,
  createFile: (path: string) => number,
): OpenSegment {
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
  return { ...id, fd, end: SEGMENT_HEADER_BYTES, clicks: 0, openedAt: performance.now() };
}

/** Truncates a partly written batch. If that fails too, readers stop at the torn record. */
function truncateTail({ fd, end }: OpenSegment): void {
  try {
    ftruncateSync(fd, end);
  } catch {
    // The disk is failing. The torn record's checksum does not match, which ends the segment.
  }
}
