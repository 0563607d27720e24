/** Reads and syncs the files of sealed segments, in the publisher's thread. */
import { closeSync, openSync, readSync } from "node:fs";
import { open as openFile } from "node:fs/promises";
import { dirname } from "node:path";

import { formatSegmentId, readSegmentId } from "../../shared/contracts/click-segment.ts";
import type { Log } from "../../shared/log.ts";
import type { SealedSegment } from "./files.ts";

/** A segment's file cannot be read, or holds a different segment. */
export class UnreadableSegmentError extends Error {
  override name = "UnreadableSegmentError";
}

/**
 * Reads a segment into `buffer`. Blocks on the disk, which is fine in this thread. Does not check
 * the records: each has a checksum that the worker verifies. Throws {@link UnreadableSegmentError}.
 */
export function readSegment(segment: SealedSegment, buffer: Buffer): Buffer {
  const { path, bytes } = segment;
  const expectedId = formatSegmentId(segment);
  let read: number;
  try {
    const file = openSync(path, "r");
    try {
      read = readSync(file, buffer, 0, bytes, 0);
    } finally {
      closeSync(file);
    }
  } catch (cause) {
    throw new UnreadableSegmentError(`${path} cannot be read.`, { cause });
  }
  if (read < bytes) throw new UnreadableSegmentError(`${path} has only ${read} bytes of ${bytes}.`);
  const id = readSegmentId(buffer);
  if (id === undefined || formatSegmentId(id) !== expectedId)
    throw new UnreadableSegmentError(`${path} does not hold segment ${expectedId}.`);
  return buffer.subarray(0, bytes);
}

/** Syncs files to disk; also their directories, or the files' entries in them may be lost. */
export async function syncFiles(paths: readonly string[], log: Log): Promise<void> {
  for (const path of [...paths, ...new Set(paths.map(dirname))]) {
    try {
      const file = await openFile(path, "r");
      try {
        await file.sync();
      } finally {
        await file.close();
      }
    } catch (error) {
      // One bad file must not leave the others unsynced.
      log.error({ error, path }, "journal_sync_failed");
    }
  }
}
