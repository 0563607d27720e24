/**
 * The owner of the clicks: the only worker that inserts, and how it makes each batch exactly once (docs/batches.md).
 * Everything rests on the log of batches: an owner writes a manifest, and then inserts only if nobody has claimed
 * the log since; a new owner writes its claim, and then reads the manifests. So either the old one sees the claim, or the
 * new one the manifest.
 */
import type { SegmentId } from "../../shared/contracts/click-segment.ts";
import { newUuid } from "../../shared/ids.ts";
import {
  type BatchLog,
  type Checkpoint,
  type Claim,
  isSameClaim,
  type Manifest,
  replayLog,
} from "./entries.ts";
import { addToRanges, formatRanges, type Ranges } from "./ranges.ts";
import {
  addSegments,
  formatSegmentIds,
  formatSegments,
  listSegments,
  parseSegments,
  type SegmentIndex,
} from "./segment-index.ts";

/** Batches after which an owner writes a checkpoint: about eight minutes of a full load. */
const CHECKPOINT_BATCHES = 500;

/** Age after which an owner writes a checkpoint: far below the expiry of the log's entries (0005_batches.sql). */
const CHECKPOINT_AGE_MS = 24 * 3_600_000;

/** Most manifests that stay open, and with them the size of a checkpoint. Beyond it, the oldest is given up. */
const OPEN_MAX = 100;

/** Age of the clicks among which the first owner looks for half-done inserts; the consistency check covers older ones. */
const HALF_DONE_AGE_MS = 3_600_000;

/** A segment whose rows can be inserted. It has at least one click. */
export type BatchSegment<Rows> = SegmentId & {
  rows: Rows;
  /** Its sequence in the stream. */
  sequence: number;
  /** Unix milliseconds of its first and its last click. */
  firstClick: number;
  lastClick: number;
};

/** A time span of clicks in Unix milliseconds, inclusive. */
export type ClickSpan = { firstClick: number; lastClick: number };

export type OwnerDeps<Rows> = {
  log: BatchLog;
  /** Inserts the rows as one block, unless the token was inserted before. Can be repeated. */
  insert: (token: string, rows: readonly Rows[]) => Promise<void>;
  /** Whether an error of `insert` says that ClickHouse will never accept these rows. */
  isRejected: (error: unknown) => boolean;
  /** Which of these segments have rows in ClickHouse. */
  findStored: (segments: SegmentId[], span: ClickSpan) => Promise<SegmentId[]>;
  /** The segments that ClickHouse holds, for the first owner of all. */
  readHistory: () => Promise<SegmentIndex>;
  /** Finds the segments of a manifest that are still in the stream. */
  findInStream: (segments: SegmentIndex, sequences: string) => Promise<BatchSegment<Rows>[]>;
  /**
   * Compares the rollups of the span with its clicks and rebuilds what differs, and what could not be repaired before.
   * Nothing is inserted meanwhile.
   */
  repair: (span?: ClickSpan) => Promise<void>;
  /** Repeats an operation until it succeeds; throws when the worker stops. Rethrows what is `final`. */
  retry: <T>(operation: () => Promise<T>, final?: (error: unknown) => boolean) => Promise<T>;
  /** Called when it was found out what of a batch is stored, which may be clicks that no worker has counted. */
  onSettled: () => void;
};

/** Another worker has claimed the log. */
export class LostOwnershipError extends Error {
  override name = "LostOwnershipError";
}

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
  store<Segment extends BatchSegment<Rows>>(segments: readonly Segment[]): Promise<Refused<Segment>[]>;
  /** Says in the log that the last batch is stored, so that the next owner need not find out. */
  release(): Promise<void>;
  /** The number of ranges in the index, of journals it had to forget, and of manifests that are open. */
  size(): { ranges: number; forgotten: number; open: number };
};

/** Claims the log and settles what the owner before left in doubt. Undefined when another worker's claim is higher. */
export async function takeOver<Rows>(deps: OwnerDeps<Rows>): Promise<Owner<Rows> | undefined> {
  const { log, retry } = deps;
  const before = await log.readHighestClaim();
  const claim: Claim = { epoch: (before?.epoch ?? 0) + 1, owner: newUuid() };
  await log.claim(claim);
  // Only now: what was written before the claim is seen, and who writes later sees the claim.
  if (!isSameClaim(await log.readHighestClaim(), claim)) return undefined;
  const found = await log.read();
  const { index, inDoubt } =
    found === undefined
      ? { index: await readClickHouse(deps), inDoubt: [] }
      : replayLog(found.checkpoint, found.entries);
  const open: Manifest[] = [];
  for (const manifest of inDoubt) {
    const segments = parseSegments(manifest.segments);
    const inStream = await retry(() => deps.findInStream(segments, manifest.sequences));
    if (!(await settle(deps, index, manifest, inStream))) open.push(manifest);
  }
  return await startOwner(deps, claim, index, open.slice(-OPEN_MAX));
}

/**
 * Reads which segments are stored from the clicks themselves, before there is a log: those of the version that inserted
 * each segment by itself, whose last inserts may be half done.
 */
async function readClickHouse<Rows>({
  readHistory,
  repair,
}: OwnerDeps<Rows>): Promise<SegmentIndex> {
  const index = await readHistory();
  const now = Date.now();
  if (index.size() > 0) await repair({ firstClick: now - HALF_DONE_AGE_MS, lastClick: now });
  return index;
}

/**
 * Finds out which segments of a manifest are stored, after inserting those at hand that are missing under its token: if
 * an insert under this token is still on its way, it will now have no effect. Returns whether that is so; it is not when
 * nothing is at hand, and nothing is stored.
 */
async function settle<Rows>(
  { insert, isRejected, findStored, repair, retry, onSettled }: OwnerDeps<Rows>,
  index: SegmentIndex,
  manifest: Manifest,
  atHand: readonly BatchSegment<Rows>[],
): Promise<boolean> {
  const addStored = async (): Promise<number> => {
    const ids = [...listSegments(parseSegments(manifest.segments))];
    const stored = await retry(() => findStored(ids, manifest));
    for (const id of stored) index.add(id);
    return stored.length;
  };
  let stored = await addStored();
  const missing = atHand.filter((segment) => !index.has(segment));
  if (missing.length > 0) {
    try {
      await retry(() => insert(manifest.token, missing.map(({ rows }) => rows)), isRejected);
    } catch (error) {
      // Not stored, then; they are refused again when they are delivered.
      if (!isRejected(error)) throw error;
    }
    stored = await addStored();
  }
  if (stored > 0) await repair(manifest);
  onSettled();
  return stored > 0 || missing.length > 0;
}

async function startOwner<Rows>(
  deps: OwnerDeps<Rows>,
  claim: Claim,
  index: SegmentIndex,
  open: Manifest[],
): Promise<Owner<Rows> | undefined> {
  const { log, insert, isRejected, findStored, repair, retry } = deps;
  let number = 0;
  let checkpointNumber = 0;
  let checkpointAt = 0;
  /** Of the last batch, until a later entry implies or says that it is stored. */
  let unsaid: string | undefined;

  const isMine = async (): Promise<boolean> =>
    isSameClaim(await log.readHighestClaim(), claim);

  async function writeCheckpoint(): Promise<void> {
    const checkpoint: Checkpoint = { number, segments: formatSegments(index), open };
    await retry(() => log.appendCheckpoint(claim, checkpoint));
    [checkpointNumber, checkpointAt, unsaid] = [number, Date.now(), undefined];
  }

  const isFinal = (error: unknown): boolean =>
    isRejected(error) || error instanceof LostOwnershipError;

  /** Inserts a batch under a token, if this is still the owner; a retry has the same rows. */
  const insertAsOwner = (token: string, rows: readonly Rows[]): Promise<void> =>
    retry(async () => {
      if (!(await isMine())) throw new LostOwnershipError("Another worker has taken over.");
      await insert(token, rows);
    }, isFinal);

  /** Manifests that are open are settled as soon as a segment of theirs is delivered. */
  async function settleOpen(segments: readonly BatchSegment<Rows>[]): Promise<void> {
    for (const manifest of open.slice()) {
      const named = parseSegments(manifest.segments);
      const atHand = segments.filter((segment) => named.has(segment));
      if (atHand.length === 0) continue;
      if (!(await retry(isMine))) throw new LostOwnershipError("Another worker has taken over.");
      await settle(deps, index, manifest, atHand);
      open.splice(open.indexOf(manifest), 1);
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
    try {
      await insertAsOwner(manifest.token, segments.map(({ rows }) => rows));
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
    const ids = [...listSegments(parseSegments(manifest.segments))];
    const stored = await retry(() => findStored(ids, manifest));
    if (stored.length > 0) await repair(manifest);
    for (const id of stored) index.add(id);
    const text = formatSegmentIds(stored);
    await retry(() => log.append(claim, { kind: "settled", number: batch, segments: text }));
    unsaid = undefined;
    const rest = segments.filter((segment) => !index.has(segment));
    const [only] = rest;
    if (rest.length === 1 && only !== undefined && segments.length === 1)
      return [{ segment: only, reason }];
    const half = rest.length < segments.length ? rest.length : Math.ceil(rest.length / 2);
    return [
      ...(await insertBatch(rest.slice(0, half))),
      ...(await insertBatch(rest.slice(half))),
    ];
  }

  // Before the first batch: what others write in the log from now on has no meaning.
  await writeCheckpoint();
  if (!(await retry(isMine))) return undefined;
  return {
    epoch: claim.epoch,
    has: (id) => index.has(id),
    async store(segments) {
      if (
        number - checkpointNumber >= CHECKPOINT_BATCHES ||
        Date.now() - checkpointAt > CHECKPOINT_AGE_MS
      )
        await writeCheckpoint();
      if (open.length > 0) await settleOpen(segments);
      return await insertBatch(segments.filter((segment) => !index.has(segment)));
    },
    async release() {
      if (unsaid === undefined) return;
      await log.append(claim, { kind: "settled", number, segments: unsaid });
      unsaid = undefined;
    },
    size: () => ({ ranges: index.size(), forgotten: index.forgotten(), open: open.length }),
  };
}

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
