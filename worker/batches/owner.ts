/**
 * The owner of the clicks: the only worker that inserts them. It stores each click once, even if a
 * worker dies between two steps.
 *
 * Clicks arrive in segments. A segment has up to 2,000 clicks and an id that never changes. It is
 * one JetStream message, which JetStream delivers again until it is acknowledged. The owner inserts
 * many segments together, as a batch. It records what it does in the batch log, a table in
 * ClickHouse whose entries are appended and never changed. For each batch it takes four steps:
 *
 * 1. The owner writes a manifest to the log: the ids of the batch's segments, and a token. A
 *    manifest is called open, or in doubt, until it is known which of its segments are stored.
 * 2. It reads the highest claim in the log, and continues only if the claim is its own.
 * 3. It inserts the rows under the token. A ClickHouse table ignores an insert whose token it has
 *    already seen, among its last 10,000. Each table decides this for itself: `clicks`, and every
 *    rollup (a table of counts) that a view fills from the insert.
 * 4. It adds the segments to its index of stored segments, which is in memory. Then its caller
 *    acknowledges the messages.
 *
 * A segment in the index is acknowledged and not stored again, however often it is delivered.
 *
 * A worker that takes over writes a claim with the next epoch (the highest claim wins; of equal
 * epochs, the greater owner id), and then reads the log, from which it builds its index. What it
 * finds depends on how far the previous owner got:
 *
 * - It died before step 1: nothing is in the log. JetStream delivers the segments to the new owner,
 *   which stores them.
 * - It died after step 1: a manifest is in doubt, and its rows may be in all tables, in some, or in
 *   none. The new owner settles it (`settle.ts`). It reads the batch's rows back from `clicks` and
 *   inserts them once more under the manifest's token: `clicks` ignores them, because it has seen
 *   the token; a rollup that has not seen it takes them. Then it inserts the batch's segments from
 *   the stream under the same token, which stores them if nothing was stored. Finally it looks up
 *   which of the segments are in `clicks`, and adds these to its index. If none of them is in
 *   `clicks` or in the stream, the manifest stays open until JetStream delivers one, which is then
 *   first inserted under the same token.
 * - It died after step 3, before the acknowledgements: the manifest is settled in the same way,
 *   which changes nothing. JetStream delivers the segments again, and the index has them.
 * - It was only paused, and resumes: its late insert is ignored if the settlement has inserted
 *   under its token. Otherwise the manifest is still open, and a segment that is delivered again
 *   meets the rows of the late insert.
 *
 * No insert escapes the new owner: an owner writes its manifest and then reads the claims; a new
 * owner writes its claim and then reads the manifests. So either the old owner sees the claim and
 * stops, or the new owner sees the manifest and settles it. docs/batches.md says what starts a
 * takeover, and what happens when the log or the stream is lost.
 */
import type { SegmentId } from "../../shared/contracts/click-segment.ts";
import { DAY_MS } from "../../shared/durations.ts";
import { newUuid } from "../../shared/ids.ts";
import { type BatchSegment, isLost, LostOwnershipError, type OwnerDeps, spanOf } from "./deps.ts";
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
import { complete, indexStored, settle } from "./settle.ts";

/**
 * Maximum number of open manifests, which bounds the size of a checkpoint. Beyond it, the oldest is
 * dropped.
 */
const OPEN_MAX = 100;

/**
 * A segment whose clicks are all older is looked up among the stored clicks before it is inserted.
 * A redirector that was offline for long delivers such segments, and the index has only the last
 * four days if the log was lost with ClickHouse. The time here is shorter, because ClickHouse's
 * clock can differ.
 */
const OLD_MS = 3 * DAY_MS;

/** A segment that ClickHouse will never accept. */
export type RejectedSegment<Segment> = { segment: Segment; reason: string };

export type Owner = {
  epoch: number;
  /** Whether the segment is stored. */
  has(id: SegmentId): boolean;
  /**
   * Stores segments, and returns those that ClickHouse rejects. Throws {@link LostOwnershipError},
   * or when the worker stops: then the segments may be stored or not, and the next owner settles
   * that.
   */
  store<Segment extends BatchSegment>(
    segments: readonly Segment[],
  ): Promise<RejectedSegment<Segment>[]>;
  /**
   * Throws {@link LostOwnershipError} when another worker has taken over, or an error of the log.
   */
  confirm(): Promise<void>;
  /**
   * Does work that may take long, and renews the claim meanwhile, so that no other worker takes
   * over.
   */
  renewWhile<T>(work: () => Promise<T>): Promise<T>;
  /** Writes in the log that the last batch is stored, so that the next owner need not settle it. */
  release(): Promise<void>;
  /** The number of the last batch in the log. */
  batch(): number;
  /** The position of the last batch in the stream; undefined before the first batch. */
  position(): Position | undefined;
  /** The numbers of ranges in the index, of journals that it forgot, and of open manifests. */
  size(): { ranges: number; forgotten: number; open: number };
};

type Work = OwnerDeps & {
  confirm: () => Promise<void>;
  index: SegmentIndex;
  open: Manifest[];
  writer: LogWriter;
  position: { last: Position | undefined };
};

/**
 * Claims the log, and settles the batches that earlier owners left in doubt. Throws {@link
 * LostOwnershipError} when another worker's claim is higher.
 */
export async function takeOver(deps: OwnerDeps): Promise<Owner> {
  const { log, retry } = deps;
  const before = await log.readHighestClaim();
  const claim: Claim = { epoch: (before?.epoch ?? 0) + 1, owner: newUuid() };
  await log.claim(claim);
  const confirm = () => confirmClaim(log, claim);
  // Only after the claim: this read sees all that was written before it, and later writers see the
  // claim.
  const found = await log.read();
  const { index, inDoubt, ...reached } =
    found === undefined
      ? { index: await renewWhile(log, claim, deps.readHistory), inDoubt: [], position: undefined }
      : replayLog(found.checkpoint, found.entries);
  const open = inDoubt.slice(-OPEN_MAX);
  const position = { last: reached.position };
  const writer = createLogWriter(deps, claim, () => ({
    segments: formatSegments(index),
    open,
    position: position.last,
  }));
  const work: Work = { ...deps, confirm, index, open, writer, position };
  // Before any insert: entries that other workers write from now on have no effect, and the next
  // owner knows which manifests are open.
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
    batch: writer.number,
    position: () => position.last,
    size: () => ({ ranges: index.size(), forgotten: index.forgotten(), open: open.length }),
  };
}

/** Throws {@link LostOwnershipError} unless the claim is the highest. */
async function confirmClaim(log: BatchLog, claim: Claim): Promise<void> {
  if (!isSameClaim(await log.readHighestClaim(), claim))
    throw new LostOwnershipError("Another worker has taken over.");
}

/**
 * Settles the manifests that earlier owners left open, with the segments that are still in the
 * stream.
 */
async function settleFromStream(work: Work): Promise<void> {
  const { open, retry, findInStream, writer } = work;
  if (open.length === 0) return;
  for (const manifest of open.slice()) {
    const segments = parseSegments(manifest.segments);
    const atHand = await retry(() => findInStream(segments, manifest.sequences));
    await settleOpen(work, manifest, atHand);
  }
  await writer.writeCheckpoint();
}

/** Settles each open manifest that names a delivered segment. */
async function settleDelivered(work: Work, segments: readonly BatchSegment[]): Promise<void> {
  for (const manifest of work.open.slice()) {
    const named = parseSegments(manifest.segments);
    const atHand = segments.filter((segment) => named.has(segment));
    if (atHand.length === 0) continue;
    await work.retry(work.confirm, isLost);
    await settleOpen(work, manifest, atHand);
    await work.writer.writeCheckpoint();
  }
}

/** Adds to the index those old segments ({@link OLD_MS}) that are already stored. */
async function lookUpOld(
  { index, findStored, retry }: Work,
  segments: readonly BatchSegment[],
): Promise<void> {
  const before = Date.now() - OLD_MS;
  const old = segments.filter((segment) => segment.lastClick < before && !index.has(segment));
  if (old.length === 0) return;
  for (const id of await retry(() => findStored(old, spanOf(old)))) index.add(id);
}

/** Settles an open manifest, and keeps the part that is still open. */
async function settleOpen(
  work: Work,
  manifest: Manifest,
  atHand: readonly BatchSegment[],
): Promise<void> {
  const rest = await settle(work, work.index, manifest, atHand);
  work.open.splice(work.open.indexOf(manifest), 1, ...(rest === undefined ? [] : [rest]));
}

async function insertBatch<Segment extends BatchSegment>(
  work: Work,
  segments: readonly Segment[],
): Promise<RejectedSegment<Segment>[]> {
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

/** Inserts the halves of a rejected batch, so that in the end each rejected segment is alone. */
async function split<Segment extends BatchSegment>(
  work: Work,
  batch: Batch,
  segments: readonly Segment[],
  reason: string,
): Promise<RejectedSegment<Segment>[]> {
  const { writer, index } = work;
  // Rows can be stored although the insert was rejected: a view may have rejected it.
  const stored = await indexStored(work, index, batch.manifest);
  if (stored.length > 0) {
    await work.retry(work.confirm, isLost);
    const rows = segments.map((segment) => segment.rows);
    await complete(work, batch.manifest, rows);
  }
  await writer.settle(batch, formatSegmentIds(stored));
  const rest = segments.filter((segment) => !index.has(segment));
  const [only] = rest;
  if (segments.length === 1 && only !== undefined) return [{ segment: only, reason }];
  const half = rest.length < segments.length ? rest.length : Math.ceil(rest.length / 2);
  const first = await insertBatch(work, rest.slice(0, half));
  return [...first, ...(await insertBatch(work, rest.slice(half)))];
}
