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
 *   none. The new owner settles it. It reads the batch's rows back from `clicks` and
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
import { isRejected } from "../clickhouse.ts";
import {
  type Batch,
  type BatchLog,
  type BatchLogState,
  type Claim,
  isSameClaim,
  LogWriter,
  type Manifest,
  renewWhile,
  replayLog,
  type Retry,
  type StreamPosition,
} from "./batch-log.ts";
import { type BatchSegment, type ClickStore, spanOf } from "./clicks-table.ts";
import { SegmentIndex } from "./segment-index.ts";

/** Maximum open manifests, as a checkpoint has them; beyond it, the oldest is dropped. */
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

/** Where the segments of a batch in doubt are found again; a model of it is in `test/harness`. */
export interface SegmentSource {
  /**
   * Finds which of these segments the stream still has, each once. The sequences are a hint:
   * messages with them can be of other segments.
   */
  find(segments: SegmentIndex, sequences: string): Promise<BatchSegment[]>;
}

/** Another worker has claimed the log. */
export class LostOwnershipError extends Error {
  override name = "LostOwnershipError";
}

export const isLost = (error: unknown): boolean => error instanceof LostOwnershipError;

export class Owner {
  readonly #log: BatchLog;
  readonly #clicks: ClickStore;
  readonly #stream: SegmentSource;
  readonly #retry: Retry;
  readonly #claim: Claim;
  readonly #index: SegmentIndex;
  readonly #open: Manifest[];
  readonly #writer: LogWriter;
  #position: StreamPosition | undefined;
  #settled = 0;

  private constructor(
    log: BatchLog,
    clicks: ClickStore,
    stream: SegmentSource,
    retry: Retry,
    claim: Claim,
    { index, inDoubt, position }: BatchLogState,
  ) {
    this.#log = log;
    this.#clicks = clicks;
    this.#stream = stream;
    this.#retry = retry;
    this.#claim = claim;
    this.#index = index;
    this.#open = inDoubt.slice(-OPEN_MAX);
    this.#position = position;
    this.#writer = new LogWriter(log, claim, retry);
  }

  /**
   * Claims the log, and settles the batches that earlier owners left in doubt. Throws {@link
   * LostOwnershipError} when another worker's claim is higher.
   */
  static async takeOver(
    log: BatchLog,
    clicks: ClickStore,
    stream: SegmentSource,
    retry: Retry,
  ): Promise<Owner> {
    const before = await log.readHighestClaim();
    const claim: Claim = { epoch: (before?.epoch ?? 0) + 1, owner: newUuid() };
    await log.claim(claim);
    // Only after the claim: this read sees all that was written before it, and later writers see
    // the claim.
    const found = await log.read();
    const state =
      found === undefined
        ? {
            index: await renewWhile(log, claim, () => clicks.readHistory()),
            inDoubt: [],
            position: undefined,
          }
        : replayLog(found.checkpoint, found.entries);
    const owner = new Owner(log, clicks, stream, retry, claim, state);
    // Before any insert: entries that other workers write from now on have no effect, and the next
    // owner knows which manifests are open.
    await owner.#writeCheckpoint();
    await retry(() => owner.confirm(), isLost);
    await owner.renewWhile(() => owner.#settleFromStream());
    return owner;
  }

  get epoch(): number {
    return this.#claim.epoch;
  }

  /** The number of the last batch in the log. */
  get batch(): number {
    return this.#writer.number;
  }

  /** The position of the last batch in the stream; undefined before the first batch. */
  get position(): StreamPosition | undefined {
    return this.#position;
  }

  /** Batches in doubt that were settled: no worker may have counted their clicks yet. */
  get settled(): number {
    return this.#settled;
  }

  /** The numbers of ranges in the index, of journals that it forgot, and of open manifests. */
  get size(): OwnerSize {
    const { size: ranges, forgotten } = this.#index;
    return { ranges, forgotten, open: this.#open.length };
  }

  has(id: SegmentId): boolean {
    return this.#index.has(id);
  }

  /**
   * Stores segments, and returns those that ClickHouse rejects. Throws {@link LostOwnershipError},
   * or when the worker stops: then the segments may be stored or not, and the next owner settles
   * that.
   */
  async store<Segment extends BatchSegment>(
    segments: readonly Segment[],
  ): Promise<RejectedSegment<Segment>[]> {
    if (this.#writer.isCheckpointDue()) await this.#writeCheckpoint();
    await this.#settleDelivered(segments);
    await this.#lookUpOld(segments);
    const unknown = segments.filter((segment) => !this.#index.has(segment));
    return await this.#insertBatch(unknown);
  }

  /**
   * Throws {@link LostOwnershipError} when another worker has taken over, or an error of the log.
   */
  async confirm(): Promise<void> {
    if (!isSameClaim(await this.#log.readHighestClaim(), this.#claim))
      throw new LostOwnershipError("Another worker has taken over.");
  }

  /** Does work that may take long; renews the claim, so that no other worker takes over. */
  renewWhile<T>(work: () => Promise<T>): Promise<T> {
    return renewWhile(this.#log, this.#claim, work);
  }

  /** Writes in the log that the last batch is stored, so that the next owner need not settle it. */
  async release(): Promise<void> {
    await this.#writer.release();
  }

  async #writeCheckpoint(): Promise<void> {
    await this.#writer.writeCheckpoint({
      segments: this.#index.format(),
      open: this.#open,
      position: this.#position,
    });
  }

  /** Settles the open manifests, with the segments that are still in the stream. */
  async #settleFromStream(): Promise<void> {
    if (this.#open.length === 0) return;
    for (const manifest of this.#open.slice()) {
      const segments = SegmentIndex.parse(manifest.segments);
      const atHand = await this.#retry(() => this.#stream.find(segments, manifest.sequences));
      await this.#settleOpen(manifest, atHand);
    }
    await this.#writeCheckpoint();
  }

  async #settleDelivered(segments: readonly BatchSegment[]): Promise<void> {
    for (const manifest of this.#open.slice()) {
      const named = SegmentIndex.parse(manifest.segments);
      const atHand = segments.filter((segment) => named.has(segment));
      if (atHand.length === 0) continue;
      await this.#settleOpen(manifest, atHand);
      await this.#writeCheckpoint();
    }
  }

  /** Adds to the index those old segments ({@link OLD_MS}) that are already stored. */
  async #lookUpOld(segments: readonly BatchSegment[]): Promise<void> {
    const before = Date.now() - OLD_MS;
    const old = segments.filter(
      (segment) => segment.lastClick < before && !this.#index.has(segment),
    );
    if (old.length === 0) return;
    const stored = await this.#retry(() => this.#clicks.findStored(old, spanOf(old)));
    for (const id of stored) this.#index.add(id);
  }

  /** Settles an open manifest, and keeps it if it is still open. */
  async #settleOpen(manifest: Manifest, atHand: readonly BatchSegment[]): Promise<void> {
    const rest = await this.#settle(manifest, atHand);
    this.#open.splice(this.#open.indexOf(manifest), 1, ...(rest === undefined ? [] : [rest]));
  }

  /**
   * Settles a batch in doubt. The rows of it that are in `clicks` are inserted again under its
   * token: a rollup that lacks them gets exactly these rows, and not those that another version or
   * other GeoIP data would make of the segments. Then the segments at hand are inserted under its
   * token, which stores them if nothing was stored. After that, a late insert under this token, by
   * a worker that was paused, has no effect. Returns the manifest if it stays open, because no
   * segment of it is at hand or stored.
   */
  async #settle(
    manifest: Manifest,
    atHand: readonly BatchSegment[],
  ): Promise<Manifest | undefined> {
    const ids = SegmentIndex.parse(manifest.segments).list();
    const inClicks = await this.#retry(() => this.#clicks.readRows(ids, manifest));
    // Only after the rows are read: those of a later owner, which has settled this batch, are
    // stored under another token.
    await this.#retry(() => this.confirm(), isLost);
    const rows = rowsOf(atHand);
    if (await this.#complete(manifest, [inClicks])) await this.#complete(manifest, rows);
    const stored = await this.#indexStored(manifest);
    const isLate = inClicks.length === 0 && atHand.length === 0 && stored.length > 0;
    // The insert of an earlier owner has arrived since: it may have ended before some rollups.
    if (isLate) return await this.#settle(manifest, atHand);
    this.#settled++;
    return atHand.length === 0 && stored.length === 0 ? manifest : undefined;
  }

  /**
   * Inserts rows under the token of a batch of which a part may be stored: each table drops them if
   * it has the token. Returns false if ClickHouse rejects them. Rows that are in no table are
   * rejected again when they are delivered; those that are in `clicks` are left to the consistency
   * check, which adds them to the rollups.
   */
  async #complete({ token }: Manifest, rows: readonly Buffer[]): Promise<boolean> {
    if (rows.every(({ length }) => length === 0)) return true;
    try {
      await this.#retry(() => this.#clicks.insert(token, rows), isRejected);
      return true;
    } catch (error) {
      if (!isRejected(error)) throw error;
      return false;
    }
  }

  /** Adds the stored segments of a batch to the index, and returns them. */
  async #indexStored(manifest: Manifest): Promise<SegmentId[]> {
    const ids = SegmentIndex.parse(manifest.segments).list();
    const stored = await this.#retry(() => this.#clicks.findStored(ids, manifest));
    for (const id of stored) this.#index.add(id);
    return stored;
  }

  /** The four steps of a batch, and its parts if ClickHouse rejects it. */
  async #insertBatch<Segment extends BatchSegment>(
    segments: readonly Segment[],
  ): Promise<RejectedSegment<Segment>[]> {
    if (segments.length === 0) return [];
    const batch = await this.#writer.begin(segments);
    this.#position = batch.manifest.position;
    const rows = rowsOf(segments);
    try {
      await this.#retry(
        async () => {
          await this.confirm();
          await this.#clicks.insert(batch.manifest.token, rows);
        },
        (error) => isRejected(error) || isLost(error),
      );
    } catch (error) {
      if (!isRejected(error)) throw error;
      return await this.#split(batch, segments, String(error));
    }
    this.#index.addText(batch.manifest.segments);
    this.#writer.finish(batch);
    return [];
  }

  /** Inserts the halves of a rejected batch, so that in the end each rejected segment is alone. */
  async #split<Segment extends BatchSegment>(
    batch: Batch,
    segments: readonly Segment[],
    reason: string,
  ): Promise<RejectedSegment<Segment>[]> {
    // Rows can be stored although the insert was rejected: a view may have rejected it.
    const stored = await this.#indexStored(batch.manifest);
    if (stored.length > 0) {
      await this.#retry(() => this.confirm(), isLost);
      await this.#complete(batch.manifest, rowsOf(segments));
    }
    await this.#writer.settle(batch, SegmentIndex.of(stored).format());
    const rest = segments.filter((segment) => !this.#index.has(segment));
    const [only] = rest;
    if (segments.length === 1 && only !== undefined) return [{ segment: only, reason }];
    const half = rest.length < segments.length ? rest.length : Math.ceil(rest.length / 2);
    const first = await this.#insertBatch(rest.slice(0, half));
    return [...first, ...(await this.#insertBatch(rest.slice(half)))];
  }
}

export type OwnerSize = { ranges: number; forgotten: number; open: number };

const rowsOf = (segments: readonly BatchSegment[]): Buffer[] => segments.map(({ rows }) => rows);
