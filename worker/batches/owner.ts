/**
 * The owner of the clicks: the only worker that inserts, and how it stores each batch exactly once (docs/batches.md).
 * Everything rests on the log of batches: an owner writes a manifest, and then inserts only if nobody has claimed the
 * log since; a new owner writes its claim, and then reads the manifests. So either the old one sees the claim, or the
 * new one the manifest.
 */
import type { SegmentId } from "../../shared/contracts/click-segment.ts";
import { newUuid } from "../../shared/ids.ts";
import { type BatchSegment, isLost, LostOwnershipError, type OwnerDeps } from "./deps.ts";
import {
  type BatchLog,
  type Claim,
  isSameClaim,
  type Manifest,
  type Position,
  replayLog,
} from "./entries.ts";
import { type Batch, createLogWriter, type LogWriter } from "./log-writer.ts";
import { renewWhile } from "./renewal.ts";
import {
  addSegments,
  formatSegmentIds,
  formatSegments,
  parseSegments,
  type SegmentIndex,
} from "./segment-index.ts";
import { findOut, readClickHouse, settle, toUnrepaired } from "./settle.ts";

/** Most manifests that stay open, and with them the size of a checkpoint. Beyond it, the oldest is given up. */
const OPEN_MAX = 100;

/**
 * Segments whose clicks are all older are looked up among the stored clicks before they are inserted: a redirector that was
 * away for long delivers them late, and where the log was lost with ClickHouse, the index has only the last days. Less than
 * those days, as ClickHouse's clock may be another.
 */
const OLD_MS = 3 * 86_400_000;

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
  /** Does something that may take long, and shows others meanwhile that this one is at work. */
  renewWhile<T>(work: () => Promise<T>): Promise<T>;
  /** Says in the log that the last batch is stored, so that the next owner need not find out. */
  release(): Promise<void>;
  /** Where the last batch was in the stream; undefined before the first of all. */
  position(): Position | undefined;
  /** The number of ranges in the index, of journals it had to forget, and of manifests that are open. */
  size(): { ranges: number; forgotten: number; open: number };
};

/** What an owner works on. */
type Work<Rows> = OwnerDeps<Rows> & {
  confirm: () => Promise<void>;
  index: SegmentIndex;
  open: Manifest[];
  writer: LogWriter;
  position: { last: Position | undefined };
};

/**
 * Claims the log, and settles what owners before left in doubt. Throws {@link LostOwnershipError} when another worker's
 * claim is higher.
 */
export async function takeOver<Rows>(deps: OwnerDeps<Rows>): Promise<Owner<Rows>> {
  const { log, retry } = deps;
  const before = await log.readHighestClaim();
  const claim: Claim = { epoch: (before?.epoch ?? 0) + 1, owner: newUuid() };
  await log.claim(claim);
  const confirm = () => confirmClaim(log, claim);
  // Only now: what was written before the claim is seen, and who writes later sees the claim.
  const found = await log.read();
  const { index, inDoubt, ...reached } =
    found === undefined
      ? { index: await readClickHouse({ ...deps, confirm }), inDoubt: [], position: undefined }
      : replayLog(found.checkpoint, found.entries);
  const open = inDoubt.slice(-OPEN_MAX);
  const position = { last: reached.position };
  const writer = createLogWriter(deps, claim, () => ({
    segments: formatSegments(index),
    open,
    position: position.last,
  }));
  const work: Work<Rows> = { ...deps, confirm, index, open, writer, position };
  // Before anything is inserted: what others write in the log from now on has no meaning, and whoever comes next knows
  // which manifests are open.
  await writer.writeCheckpoint();
  await retry(confirm, isLost);
  await renewWhile(log, claim, () => settleFromStream(work));
  return {
    epoch: claim.epoch,
    has: (id) => index.has(id),
    async store(segments) {
      await writer.writeCheckpointIfDue();
      await settleDelivered(work, segments);
      await lookUpOld(work, segments);
      const unknown = segments.filter((segment) => !index.has(segment));
      return await insertBatch(work, unknown);
    },
    confirm,
    renewWhile: (long) => renewWhile(log, claim, long),
    release: writer.release,
    position: () => position.last,
    size: () => ({ ranges: index.size(), forgotten: index.forgotten(), open: open.length }),
  };
}

/** Throws {@link LostOwnershipError} unless the claim is the highest. */
async function confirmClaim(log: BatchLog, claim: Claim): Promise<void> {
  if (!isSameClaim(await log.readHighestClaim(), claim))
    throw new LostOwnershipError("Another worker has taken over.");
}

/** Settles the manifests that the owners before left open, as far as their segments are in the stream. */
async function settleFromStream<Rows>(work: Work<Rows>): Promise<void> {
  const { open, retry, findInStream, writer } = work;
  if (open.length === 0) return;
  for (const manifest of open.slice()) {
    const segments = parseSegments(manifest.segments);
    const atHand = await retry(() => findInStream(segments, manifest.sequences));
    await settleOpen(work, manifest, atHand);
  }
  await writer.writeCheckpoint();
}

/** Settles manifests that are still open as soon as a segment of theirs is delivered. */
async function settleDelivered<Rows>(
  work: Work<Rows>,
  segments: readonly BatchSegment<Rows>[],
): Promise<void> {
  for (const manifest of work.open.slice()) {
    const named = parseSegments(manifest.segments);
    const atHand = segments.filter((segment) => named.has(segment));
    if (atHand.length === 0) continue;
    await work.retry(work.confirm, isLost);
    await settleOpen(work, manifest, atHand);
    await work.writer.writeCheckpoint();
  }
}

/** Adds to the index which of the segments that are {@link OLD_MS} old are stored. */
async function lookUpOld<Rows>(
  { index, findStored, retry }: Work<Rows>,
  segments: readonly BatchSegment<Rows>[],
): Promise<void> {
  const before = Date.now() - OLD_MS;
  const old = segments.filter((segment) => segment.lastClick < before && !index.has(segment));
  if (old.length === 0) return;
  const span = {
    firstClick: Math.min(...old.map(({ firstClick }) => firstClick)),
    lastClick: Math.max(...old.map(({ lastClick }) => lastClick)),
  };
  for (const id of await retry(() => findStored(old, span))) index.add(id);
}

/** Settles an open manifest, and replaces it by what is left of it. */
async function settleOpen<Rows>(
  work: Work<Rows>,
  manifest: Manifest,
  atHand: readonly BatchSegment<Rows>[],
): Promise<void> {
  const rest = await settle(work, work.index, manifest, atHand);
  work.open.splice(work.open.indexOf(manifest), 1, ...(rest === undefined ? [] : [rest]));
}

async function insertBatch<Rows, Segment extends BatchSegment<Rows>>(
  work: Work<Rows>,
  segments: readonly Segment[],
): Promise<Refused<Segment>[]> {
  const { writer, confirm, insert, isRejected, retry, index, position } = work;
  if (segments.length === 0) return [];
  const batch = await writer.begin(segments);
  position.last = batch.manifest.position;
  const { token } = batch.manifest;
  const rows = segments.map((segment) => segment.rows);
  try {
    await retry(
      async () => {
        await confirm();
        await insert(token, rows);
      },
      (error) => isRejected(error) || isLost(error),
    );
  } catch (error) {
    if (!isRejected(error)) throw error;
    return await split(work, batch, segments, String(error));
  }
  addSegments(index, batch.manifest.segments);
  writer.finish(batch);
  return [];
}

/** Inserts the halves of a refused batch, so that in the end each refused segment is alone. */
async function split<Rows, Segment extends BatchSegment<Rows>>(
  work: Work<Rows>,
  batch: Batch,
  segments: readonly Segment[],
  reason: string,
): Promise<Refused<Segment>[]> {
  const { writer, index, open } = work;
  // A refusal does not prove that nothing was stored: it may come from a view.
  const found = await findOut(work, index, batch.manifest);
  if (!found.isRepaired) {
    open.push(toUnrepaired(batch.manifest));
    await writer.writeCheckpoint();
  }
  await writer.settle(batch, formatSegmentIds(found.stored));
  const rest = segments.filter((segment) => !index.has(segment));
  const [only] = rest;
  if (segments.length === 1 && only !== undefined) return [{ segment: only, reason }];
  const half = rest.length < segments.length ? rest.length : Math.ceil(rest.length / 2);
  const first = await insertBatch(work, rest.slice(0, half));
  return [...first, ...(await insertBatch(work, rest.slice(half)))];
}
