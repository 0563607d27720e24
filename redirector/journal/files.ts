/**
 * The files of a journal, one per segment and named after it: `.open` while it is written,
 * `.segment` once it is sealed. The name and bytes of a sealed segment, and so its id, never change
 * again; every later stage recognises a repeat by that id.
 */
import {
  closeSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  truncateSync,
  unlinkSync,
} from "node:fs";
import { open as openFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

import { quarantineSegment } from "../../shared/clicks/quarantine.ts";
import {
  formatSegmentId,
  readSegmentId,
  scanSegment,
  type SegmentId,
  whyNoSegment,
} from "../../shared/contracts/click-segment.ts";
import type { Log } from "../../shared/log.ts";

const FILE_NAME = /^(?<journalId>[0-9a-f-]{36})-(?<number>\d{10})\.(?<state>open|segment)$/;

export type SealedSegment = SegmentId & { path: string; bytes: number; clicks: number };

/** Path of a segment's file. Segment numbers have a fixed width, so that names sort in order. */
export const segmentPath = (
  dir: string,
  { journalId, segment }: SegmentId,
  state: "open" | "segment",
): string => join(dir, `${journalId}-${String(segment).padStart(10, "0")}.${state}`);

/** A file with the name of a segment that holds none, or another one. */
type UnknownFile = { name: string; problem: string };

/**
 * Recovers the segments that an earlier process left. Seals those that were still open at the end
 * of their last whole click, and returns all in order. Ignores files that hold no segment of this
 * version and returns their names and why. Quarantines files that cannot be read and returns an
 * error for each; and one for each that cannot be changed, as on a read-only disk: the next start
 * recovers it.
 */
export function recoverSegments(dir: string): {
  segments: SealedSegment[];
  unknown: UnknownFile[];
  unreadable: Error[];
  unchangeable: Error[];
} {
  const segments: SealedSegment[] = [];
  const unknown: UnknownFile[] = [];
  const unreadable: Error[] = [];
  const unchangeable: Error[] = [];
  for (const name of readdirSync(dir).toSorted()) {
    if (!FILE_NAME.test(name)) continue;
    const path = join(dir, name);
    let bytes: Buffer;
    try {
      bytes = readFileSync(path);
    } catch (cause) {
      unreadable.push(quarantineUnreadable(path, cause));
      continue;
    }
    try {
      const segment = recoverSegment(path, bytes);
      if (segment === "unknown") unknown.push({ name, problem: whyUnknown(bytes) });
      else if (segment !== undefined) segments.push(segment);
    } catch (cause) {
      unchangeable.push(new Error(`${path} cannot be recovered.`, { cause }));
    }
  }
  return { segments, unknown, unreadable, unchangeable };
}

/** Seals a segment; undefined for one without clicks, whose file is deleted. */
function recoverSegment(path: string, bytes: Buffer): SealedSegment | "unknown" | undefined {
  const fields = FILE_NAME.exec(basename(path))?.groups;
  const scan = scanSegment(bytes);
  if (bytes.length === 0) {
    // It was published and truncated, for reuse.
    unlinkSync(path);
    return undefined;
  }
  if (
    scan === undefined ||
    scan.journalId !== fields?.["journalId"] ||
    scan.segment !== Number(fields["number"])
  )
    return "unknown";
  const { journalId, segment, records, end } = scan;
  const clicks = records.length;
  if (clicks === 0) {
    unlinkSync(path);
    return undefined;
  }
  // Of a sealed one all, with damaged records: the worker skips and counts them.
  if (fields["state"] === "segment")
    return { journalId, segment, path, bytes: bytes.length, clicks };
  truncateSync(path, end);
  const sealedPath = segmentPath(dirname(path), scan, "segment");
  renameSync(path, sealedPath);
  return { journalId, segment, path: sealedPath, bytes: end, clicks };
}

const whyUnknown = (bytes: Buffer): string =>
  readSegmentId(bytes) === undefined ? whyNoSegment(bytes) : "the segment of another name";

/** One file that cannot be read must not keep a redirector from starting. */
function quarantineUnreadable(path: string, cause: unknown): Error {
  try {
    return new Error(`${path} cannot be read; moved to ${quarantineSegment(path)}.`, { cause });
  } catch (error) {
    return new AggregateError([cause, error], `${path} can neither be read nor be moved.`);
  }
}

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
