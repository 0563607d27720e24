/**
 * The entries of the log of batches (docs/batches.md), and what they mean together. An entry is only ever appended, and
 * appending it twice means the same as once.
 */
import { addSegments, createSegmentIndex, RANGES_MAX, type SegmentIndex } from "./segment-index.ts";

/** A worker's claim to be the owner: the highest epoch wins; of the same epoch, the greater owner id. */
export type Claim = {
  epoch: number;
  /** Random, by claim. */
  owner: string;
};

/** What an owner intends to insert. */
export type Manifest = {
  /** The deduplication token of the insert, unique to the manifest. */
  token: string;
  /** The batch's segments, as `formatSegments` writes them. */
  segments: string;
  /** Ranges of their sequences in the stream: a hint, because a stream may be set back or recreated. */
  sequences: string;
  /** Unix milliseconds of the first and the last click. */
  firstClick: number;
  lastClick: number;
  /** The last message of the batch; undefined in entries of a version that wrote none. */
  position?: Position | undefined;
};

/**
 * A message of the stream, with the time when JetStream put it there in Unix nanoseconds: one that is published again
 * has another time. As a number it is rounded, always in the same way.
 */
export type Position = { sequence: number; publishedAt: number };

/** Entries of an owner that follow its last checkpoint; a batch has one number. */
export type BatchEntry =
  | { kind: "manifest"; number: number; manifest: Manifest }
  /** Says which segments of a batch are stored, if not all, or if the owner has stopped after it. */
  | { kind: "settled"; number: number; segments: string };

/**
 * The whole state after the batch `number`; entries of the same owner before it are without meaning, and all of
 * others.
 */
export type Checkpoint = {
  number: number;
  /** All segments that are stored. */
  segments: string;
  /** Manifests of which it was not known whether their batches are stored. */
  open: Manifest[];
  /** Of the last manifest. */
  position?: Position | undefined;
};

/** What the log shows of the claim that wins. */
export type ClaimSight = {
  /** Another text whenever the claim is appended again. */
  key: string;
  /** Milliseconds since it was last appended, by ClickHouse's clock; undefined if only in what is the future by it. */
  ageMs: number | undefined;
  /** By how many milliseconds its newest entry is ahead of ClickHouse's clock; 0 if it is not. */
  aheadMs: number;
};

export type BatchLog = {
  /** Appends a claim. */
  claim(claim: Claim): Promise<void>;
  /** The claim that wins; undefined in an empty log. */
  readHighestClaim(): Promise<Claim | undefined>;
  /** What the log shows of the claim that wins; undefined in an empty log. */
  readClaimSight(): Promise<ClaimSight | undefined>;
  append(claim: Claim, entry: BatchEntry): Promise<void>;
  appendCheckpoint(claim: Claim, checkpoint: Checkpoint): Promise<void>;
  /** The checkpoint of the highest owner that wrote one, with that owner's later entries. */
  read(): Promise<{ checkpoint: Checkpoint; entries: BatchEntry[] } | undefined>;
};

export const isSameClaim = (a: Claim | undefined, b: Claim): boolean =>
  a?.epoch === b.epoch && a.owner === b.owner;

export type LogState = {
  index: SegmentIndex;
  /** Manifests of which it is not known whether their batches are stored, in the order of their inserts. */
  inDoubt: Manifest[];
  /** Of the last manifest that has one. */
  position: Position | undefined;
};

/**
 * Derives the state from a checkpoint and the entries after it, in any order. An owner inserts one batch at a time, so
 * only its last one is in doubt: the manifest after it says that it was stored.
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
