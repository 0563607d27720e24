/**
 * The owner of the clicks: the only worker that inserts, and how it stores each batch exactly once (docs/batches.md).
 * Everything rests on the log of batches: an owner writes a manifest, and then inserts only if nobody has claimed the
 * log since; a new owner writes its claim, and then reads the manifests. So either the old one sees the claim, or the
 * new one the manifest.
 */
import type { SegmentId } from "../../shared/contracts/click-segment.ts";
import { newUuid } from "../../shared/ids.ts";
import { type BatchSegment, LostOwnershipError, type OwnerDeps } from "./deps.ts";
import { type BatchLog, type Claim, isSameClaim, type Manifest, replayLog } from "./entries.ts";
import { addToRanges, formatRanges, type Ranges } from "./ranges.ts";
import {
  addSegments,
  formatSegmentIds,
  formatSegments,
  parseSegments,
  type SegmentIndex,
} from "./segment-index.ts";
import { findOut, readClickHouse, settle, toUnrepaired } from "./settle.ts";

/** Batches after which an owner writes a checkpoint: about eight minutes of a full load. */
const CHECKPOINT_BATCHES = 500;

/** Age after which an owner writes a checkpoint: far below the expiry of the log's entries (0005_batches.sql). */
const CHECKPOINT_AGE_MS = 24 * 3_600_000;

/** Most manifests that stay open, and with them the size of a checkpoint. Beyond it, the oldest is given up. */
const OPEN_MAX = 100;

/** A segment that ClickHouse will never accept. */
export type Refused<Segment> = { segment: Segment; reason: string };

export type Owner<Rows> = {
  epoch: number;
  /** Whether the segment is stored. */
  has(id: SegmentId): boolean;
  /**
   * Stores segments, and returns those that ClickHouse refuses. Throws {@link LostOwnershipError}, or when the worker
   * stops: the segments may be stored then or not, which the next owner finds out.
   */
  store<Segment extends BatchSegment<Rows>>(
    segments: readonly Segment[],
  ): Promise<Refused<Segment>[]>;
  /** Throws {@link LostOwnershipError} when another worker has taken over, or an error of the log. */
  confirm(): Promise<void>;
  /** Says in the log that the last batch is stored, so that the next owner need not find out. */
  release(): Promise<void>;
  /** The number of ranges in the index, of journals it had to forget, and of manifests that are open. */
  size(): { ranges: number; forgotten: number; open: number };
};

/**
 * Claims the log, and settles what owners before left in doubt. Throws {@link LostOwnershipError} when another worker's
 * claim is higher.
 */
export async function takeOver<Rows>(deps: OwnerDeps<Rows>): Promise<Owner<Rows>> {
  const { log } = deps;
  const before = await log.readHighestClaim();
  const claim: Claim = { epoch: (before?.epoch ?? 0) + 1, owner: newUuid() };
  await log.claim(claim);
  // Only now: what was written before the claim is seen, and who writes later sees the claim.
  const found = await log.read();
  const { index, inDoubt } =
    found === undefined
      ? {
          index: await readClickHouse({ ...deps, confirm: () => confirmClaim(log, claim) }),
          inDoubt: [],
        }
      : replayLog(found.checkpoint, found.entries);
  const writer = createWriter(deps, claim, index, inDoubt.slice(-OPEN_MAX));
  // Before anything is inserted: what others write in the log from now on has no meaning, and whoever comes next knows
  // which manifests are open.
  await writer.writeCheckpoint();
  await writer.ensureMine();
  await writer.settleFromStream();
  return {
    epoch: claim.epoch,
    has: (id) => index.has(id),
    async store(segments) {
      await writer.writeCheckpointIfDue();
      await writer.settleDelivered(segments);
      return await writer.insertBatch(segments.filter((segment) => !index.has(segment)));
    },
    confirm: writer.checkMine,
    release: writer.release,
    size: () => ({ ranges: index.size(), forgotten: index.forgotten(), open: writer.open() }),
  };
}

/** Creates what writes batches and their entries in the log. */
function createWriter<Rows>(
  deps: OwnerDeps<Rows>,
  claim: Claim,
  index: SegmentIndex,
  open: Manifest[],
) {
  const { log, insert, isRejected, findInStream, retry } = deps;
  /** Of the last batch or checkpoint. */
  let number = 0;
  let checkpoint = { number: 0, at: 0 };
  /** The last batch, until a later entry implies or says that it is stored. */
  let unsaid: string | undefined;

  const checkMine = (): Promise<void> => confirmClaim(log, claim);
  const ensureMine = (): Promise<void> => retry(checkMine, isLost);
  const settling = { ...deps, confirm: checkMine };

  async function writeCheckpoint(): Promise<void> {
    number++;
    const state = { number, segments: formatSegments(index), open };
    await retry(() => log.appendCheckpoint(claim, state));
    checkpoint = { number, at: Date.now() };
    unsaid = undefined;
  }

  async function writeCheckpointIfDue(): Promise<void> {
    const isDue =
      number - checkpoint.number >= CHECKPOINT_BATCHES ||
      Date.now() - checkpoint.at > CHECKPOINT_AGE_MS;
    if (isDue) await writeCheckpoint();
  }

  /** Replaces an open manifest by what is left of it. */
  function keepOpen(manifest: Manifest, rest: Manifest | undefined): void {
    open.splice(open.indexOf(manifest), 1, ...(rest === undefined ? [] : [rest]));
  }

  /** Settles the manifests that the owners before left open, as far as their segments are in the stream. */
  async function settleFromStream(): Promise<void> {
    if (open.length === 0) return;
    for (const manifest of open.slice()) {
      const segments = parseSegments(manifest.segments);
      const atHand = await retry(() => findInStream(segments, manifest.sequences));
      keepOpen(manifest, await settle(settling, index, manifest, atHand));
    }
    await writeCheckpoint();
  }

  /** Settles manifests that are still open as soon as a segment of theirs is delivered. */
  async function settleDelivered(segments: readonly BatchSegment<Rows>[]): Promise<void> {
    for (const manifest of open.slice()) {
      const named = parseSegments(manifest.segments);
      const atHand = segments.filter((segment) => named.has(segment));
      if (atHand.length === 0) continue;
      await ensureMine();
      keepOpen(manifest, await settle(settling, index, manifest, atHand));
      await writeCheckpoint();
    }
  }

  async function insertBatch<Segment extends BatchSegment<Rows>>(
    segments: readonly Segment[],
  ): Promise<Refused<Segment>[]> {
    if (segments.length === 0) return [];
    const batch = ++number;
    const manifest = describe(`${claim.owner}:${batch}`, segments);
    unsaid = undefined;
    await retry(() => log.append(claim, { kind: "manifest", number: batch, manifest }));
    const rows = segments.map((segment) => segment.rows);
    try {
      await retry(
        async () => {
          await checkMine();
          await insert(manifest.token, rows);
        },
        (error) => isRejected(error) || isLost(error),
      );
    } catch (error) {
      if (!isRejected(error)) throw error;
      return await split(batch, manifest, segments, String(error));
    }
    addSegments(index, manifest.segments);
    unsaid = manifest.segments;
    return [];
  }

  /** Inserts the halves of a refused batch, so that in the end each refused segment is alone. */
  async function split<Segment extends BatchSegment<Rows>>(
    batch: number,
    manifest: Manifest,
    segments: readonly Segment[],
    reason: string,
  ): Promise<Refused<Segment>[]> {
    // A refusal does not prove that nothing was stored: it may come from a view.
    const found = await findOut(settling, index, manifest);
    if (!found.isRepaired) {
      open.push(toUnrepaired(manifest));
      await writeCheckpoint();
    }
    const stored = formatSegmentIds(found.stored);
    await retry(() => log.append(claim, { kind: "settled", number: batch, segments: stored }));
    const rest = segments.filter((segment) => !index.has(segment));
    const [only] = rest;
    if (segments.length === 1 && only !== undefined) return [{ segment: only, reason }];
    const half = rest.length < segments.length ? rest.length : Math.ceil(rest.length / 2);
    return [...(await insertBatch(rest.slice(0, half))), ...(await insertBatch(rest.slice(half)))];
  }

  async function release(): Promise<void> {
    if (unsaid === undefined) return;
    await log.append(claim, { kind: "settled", number, segments: unsaid });
    unsaid = undefined;
  }

  return {
    checkMine,
    ensureMine,
    writeCheckpoint,
    writeCheckpointIfDue,
    settleFromStream,
    settleDelivered,
    insertBatch,
    release,
    open: () => open.length,
  };
}

/** Throws {@link LostOwnershipError} unless the claim is the highest. */
async function confirmClaim(log: BatchLog, claim: Claim): Promise<void> {
  if (!isSameClaim(await log.readHighestClaim(), claim))
    throw new LostOwnershipError("Another worker has taken over.");
}

const isLost = (error: unknown): boolean => error instanceof LostOwnershipError;

/** The manifest of a batch. */
function describe<Rows>(token: string, segments: readonly BatchSegment<Rows>[]): Manifest {
  const sequences: Ranges = [];
  for (const { sequence } of segments) addToRanges(sequences, sequence);
  return {
    token,
    segments: formatSegmentIds(segments),
    sequences: formatRanges(sequences),
    firstClick: Math.min(...segments.map(({ firstClick }) => firstClick)),
    lastClick: Math.max(...segments.map(({ lastClick }) => lastClick)),
  };
}
