/** Writes an owner's entries into the log of batches. */
import { DAY_MS } from "../../shared/durations.ts";
import { type BatchSegment, type OwnerDeps, spanOf } from "./deps.ts";
import type { Checkpoint, Claim, Manifest } from "./entries.ts";
import { addToRanges, formatRanges, type Ranges } from "./ranges.ts";
import { formatSegmentIds } from "./segment-index.ts";

/** Batches after which an owner writes a checkpoint: about eight minutes at full load. */
const CHECKPOINT_BATCHES = 500;

/**
 * Age of its last checkpoint after which an owner writes one: far below the TTL of the log
 * (0005_batches.sql).
 */
const CHECKPOINT_AGE_MS = DAY_MS;

export type Batch = { number: number; manifest: Manifest };

export type LogWriter = {
  /** Writes the manifest of the next batch, which implies that the batch before is stored. */
  begin(segments: readonly BatchSegment[]): Promise<Batch>;
  /** Records that a whole batch is stored. The next entry will imply it. */
  finish(batch: Batch): void;
  /** Writes which segments of a batch are stored. */
  settle(batch: Batch, segments: string): Promise<void>;
  writeCheckpoint(): Promise<void>;
  writeCheckpointIfDue(): Promise<void>;
  /** Writes that the last batch is stored, unless a later entry implies it. */
  release(): Promise<void>;
  /** The number of the last entry. */
  number(): number;
};

/** Creates the writer of one owner; `state` returns the content of a checkpoint. */
export function createLogWriter(
  { log, retry }: Pick<OwnerDeps, "log" | "retry">,
  claim: Claim,
  state: () => Omit<Checkpoint, "number">,
): LogWriter {
  /** Of the last batch or checkpoint. */
  let number = 0;
  let checkpoint = { number: 0, at: 0 };
  let finished: Batch | undefined;

  async function writeCheckpoint(): Promise<void> {
    number++;
    const entry = { number, ...state() };
    await retry(() => log.appendCheckpoint(claim, entry));
    checkpoint = { number, at: Date.now() };
    finished = undefined;
  }

  const settle = (batch: Batch, segments: string): Promise<void> =>
    log.append(claim, { kind: "settled", number: batch.number, segments });

  return {
    async begin(segments) {
      finished = undefined;
      const batch = {
        number: ++number,
        manifest: createManifest(`${claim.owner}:${number}`, segments),
      };
      await retry(() => log.append(claim, { kind: "manifest", ...batch }));
      return batch;
    },
    finish: (batch) => void (finished = batch),
    settle: (batch, segments) => retry(() => settle(batch, segments)),
    writeCheckpoint,
    async writeCheckpointIfDue() {
      const isDue =
        number - checkpoint.number >= CHECKPOINT_BATCHES ||
        Date.now() - checkpoint.at > CHECKPOINT_AGE_MS;
      if (isDue) await writeCheckpoint();
    },
    async release() {
      if (finished === undefined) return;
      await settle(finished, finished.manifest.segments);
      finished = undefined;
    },
    number: () => number,
  };
}

/** The manifest of a batch, which has at least one segment. */
function createManifest(token: string, segments: readonly BatchSegment[]): Manifest {
  const sequences: Ranges = [];
  for (const { sequence } of segments) addToRanges(sequences, sequence);
  const last = segments.reduce((a, b) => (b.sequence > a.sequence ? b : a));
  return {
    token,
    segments: formatSegmentIds(segments),
    sequences: formatRanges(sequences),
    ...spanOf(segments),
    position: { sequence: last.sequence, publishedAt: last.publishedAt },
  };
}
