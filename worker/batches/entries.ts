/**
 * The entries of the log of batches (docs/batches.md), and the state that they add up to. Entries
 * are only appended, and appending one twice has the same meaning as once.
 */
import { addSegments, createSegmentIndex, RANGES_MAX, type SegmentIndex } from "./segment-index.ts";

/**
 * A worker's claim to be the owner: the highest epoch wins; of the same epoch, the greater owner
 * id.
 */
export type Claim = {
  epoch: number;
  /** Random, new for each claim. */
  owner: string;
};

/** What an owner intends to insert. */
export type Manifest = {
  /** The deduplication token of the insert, unique to the manifest. */
  token: string;
  /** The batch's segments, as `formatSegments` writes them. */
  segments: string;
  /**
   * Ranges of their sequences in the stream: a hint, because a stream can be rolled back or
   * recreated.
   */
  sequences: string;
  /** Unix milliseconds of the first and the last click. */
  firstClick: number;
  lastClick: number;
  /** The last message of the batch; undefined in entries of versions that did not write it. */
  position?: Position | undefined;
};

/**
 * A message of the stream, and the time when JetStream stored it in Unix nanoseconds: a message
 * that is published again has another time. As a number the time is rounded, always in the same
 * way.
 */
export type Position = { sequence: number; publishedAt: number };

/** Entries of an owner after its last checkpoint. Both entries of a batch have its number. */
export type BatchEntry =
  | { kind: "manifest"; number: number; manifest: Manifest }
  /**
   * Which segments of a batch are stored: written if not all are, or if the owner stopped after the
   * batch.
   */
  | { kind: "settled"; number: number; segments: string };

/**
 * The whole state after the batch `number`. It replaces the owner's earlier entries and all entries
 * of other owners.
 */
export type Checkpoint = {
  number: number;
  /** All segments that are stored. */
  segments: string;
  /** Manifests of batches in doubt: it was not known whether they are stored. */
  open: Manifest[];
  /** Of the last manifest. */
  position?: Position | undefined;
};

/** What the log shows of the winning claim. */
export type ClaimSight = {
  /** Changes whenever the claim is appended again. */
  key: string;
  /**
   * Milliseconds since it was last appended, by ClickHouse's clock; undefined if all its entries
   * are in the future.
   */
  ageMs: number | undefined;
  /** Milliseconds by which its newest entry is ahead of ClickHouse's clock; 0 if it is not. */
  aheadMs: number;
};

/** A place in the log: the epoch of an owner, and the number of its batch. */
export type LogPlace = { epoch: number; batch: number };

/**
 * Reads the manifests of all owners after one place in the log and up to another, in order: at most
 * `max`, but all of one place.
 */
export type ReadManifests = (
  after: LogPlace,
  upTo: LogPlace,
  max: number,
) => Promise<(LogPlace & Pick<Manifest, "segments" | "firstClick" | "lastClick">)[]>;

export type BatchLog = {
  claim(claim: Claim): Promise<void>;
  /** The winning claim; undefined in an empty log. */
  readHighestClaim(): Promise<Claim | undefined>;
  /** What the log shows of the winning claim; undefined in an empty log. */
  readClaimSight(): Promise<ClaimSight | undefined>;
  append(claim: Claim, entry: BatchEntry): Promise<void>;
  appendCheckpoint(claim: Claim, checkpoint: Checkpoint): Promise<void>;
  /** The last checkpoint of the highest owner that wrote one, and that owner's later entries. */
  read(): Promise<{ checkpoint: Checkpoint; entries: BatchEntry[] } | undefined>;
};

export const isSameClaim = (a: Claim | undefined, b: Claim): boolean =>
  a?.epoch === b.epoch && a.owner === b.owner;

export type LogState = {
  index: SegmentIndex;
  /** Manifests of batches in doubt, in the order of their inserts. */
  inDoubt: Manifest[];
  /** Of the last manifest that has one. */
  position: Position | undefined;
};

/**
 * Derives the state from a checkpoint and the entries after it, in any order. An owner inserts one
 * batch at a time, so only its last one is in doubt: the manifest after it says that it was stored.
 */
export function replayLog(
  { segments, open, number, position: reached }: Checkpoint,
  entries: readonly BatchEntry[],
  rangesMax = RANGES_MAX,
): LogState {
  const index = createSegmentIndex(rangesMax);
  addSegments(index, segments);
  const settled = new Map<number, string>();
  const manifests = new Map<number, Manifest>();
  for (const entry of entries) {
    if (entry.number <= number) continue;
    if (entry.kind === "settled") settled.set(entry.number, entry.segments);
    else manifests.set(entry.number, entry.manifest);
  }
  const last = Math.max(...manifests.keys());
  const inDoubt = [...open];
  let position = reached;
  for (const [batch, manifest] of [...manifests].toSorted(([a], [b]) => a - b)) {
    position = manifest.position ?? position;
    const stored = settled.get(batch);
    if (stored !== undefined) addSegments(index, stored);
    else if (batch === last) inDoubt.push(manifest);
    else addSegments(index, manifest.segments);
  }
  return { index, inDoubt, position };
}
