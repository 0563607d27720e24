/**
 * The batch log (docs/batches.md): its entries, the state that they add up to, the table `batches`
 * of ClickHouse that has them, and how an owner writes its own. Entries are only appended, and
 * appending one twice has the same meaning as once.
 */
import type { ClickHouseClient } from "@clickhouse/client";
import * as z from "zod";

import { queryRows } from "../../shared/clicks/query.ts";
import { DAY_MS } from "../../shared/durations.ts";
import { repeat } from "../../shared/repeat.ts";
import { type BatchSegment, spanOf } from "./clicks-table.ts";
import { addToRanges, formatRanges, type Ranges, SegmentIndex } from "./segment-index.ts";

/** The claim of a worker: the highest epoch wins; of equal ones, the greater owner id. */
export type Claim = {
  epoch: number;
  /** Random, new for each claim. */
  owner: string;
};

/** A batch that an owner intends to insert. */
export type Manifest = {
  /** The deduplication token of the insert, unique to the manifest. */
  token: string;
  /** The batch's segments, as `SegmentIndex` formats them. */
  segments: string;
  /** Ranges of their sequences: a hint, as a stream can be rolled back or recreated. */
  sequences: string;
  /** Unix milliseconds of the first and the last click. */
  firstClick: number;
  lastClick: number;
  /** The last message of the batch; undefined where a checkpoint names the manifest. */
  position?: StreamPosition | undefined;
};

/**
 * A message of the stream, and the time when JetStream stored it in Unix nanoseconds: a message
 * that is published again has another time. As a number the time is rounded, always in the same
 * way.
 */
export type StreamPosition = { sequence: number; publishedAt: number };

/** Entries of an owner after its last checkpoint. Both entries of a batch have its number. */
export type BatchEntry =
  | { kind: "manifest"; number: number; manifest: Manifest }
  /** The stored segments of a batch, if not all are, or if the owner stopped after it. */
  | { kind: "settled"; number: number; segments: string };

/** The state after the batch `number`. It replaces all earlier entries, also of other owners. */
export type Checkpoint = {
  number: number;
  segments: string;
  /** Manifests of batches in doubt: it was not known whether they are stored. */
  open: Manifest[];
  /** Of the last manifest. */
  position?: StreamPosition | undefined;
};

/** The winning claim, as the log shows it. */
export type ClaimSight = {
  /** Changes whenever the claim is appended again. */
  key: string;
  /** Milliseconds since then, by ClickHouse's clock; undefined if it is in the future. */
  ageMs: number | undefined;
  /** Milliseconds by which its newest entry is ahead of ClickHouse's clock; 0 if it is not. */
  aheadMs: number;
};

/** A place in the log: the epoch of an owner, and the number of its batch. */
export type LogPlace = { epoch: number; batch: number };

/** The log as owners use it; a model of it is in `test/harness`. */
export interface BatchLog {
  claim(claim: Claim): Promise<void>;
  /** The winning claim; undefined in an empty log. */
  readHighestClaim(): Promise<Claim | undefined>;
  /** Reads the winning claim; undefined in an empty log. */
  readClaimSight(): Promise<ClaimSight | undefined>;
  append(claim: Claim, entry: BatchEntry): Promise<void>;
  appendCheckpoint(claim: Claim, checkpoint: Checkpoint): Promise<void>;
  /** The last checkpoint of the highest owner that wrote one, and that owner's later entries. */
  read(): Promise<{ checkpoint: Checkpoint; entries: BatchEntry[] } | undefined>;
}

export const isSameClaim = (a: Claim | undefined, b: Claim): boolean =>
  a?.epoch === b.epoch && a.owner === b.owner;

export type BatchLogState = {
  index: SegmentIndex;
  /** Manifests of batches in doubt, in the order of their inserts. */
  inDoubt: Manifest[];
  /** Of the last manifest. */
  position: StreamPosition | undefined;
};

/**
 * Derives the state from a checkpoint and the entries after it, in any order. An owner inserts one
 * batch at a time, so only its last one is in doubt: the manifest after it says that it was stored.
 */
export function replayLog(
  { segments, open, number, position: reached }: Checkpoint,
  entries: readonly BatchEntry[],
): BatchLogState {
  const index = SegmentIndex.parse(segments);
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
    if (stored !== undefined) index.addText(stored);
    else if (batch === last) inDoubt.push(manifest);
    else index.addText(manifest.segments);
  }
  return { index, inDoubt, position };
}

const claimRow = z.object({ epoch: z.coerce.number(), owner: z.string() });
const sightRow = claimRow.extend({
  entries: z.coerce.number(),
  past: z.coerce.number(),
  age: z.coerce.number(),
  ahead: z.coerce.number(),
});
const checkpointRow = claimRow.extend({ number: z.coerce.number() });

const positionSchema = z.object({ sequence: z.number(), publishedAt: z.number() });

/** Empty before the first batch. */
const positionColumn = z
  .string()
  .transform((text) => (text === "" ? undefined : positionSchema.parse(JSON.parse(text))));

const manifestSchema = z.object({
  token: z.string(),
  segments: z.string(),
  sequences: z.string(),
  firstClick: z.coerce.number(),
  lastClick: z.coerce.number(),
});

const contentRow = z.object({ segments: z.string(), open: z.string(), position: positionColumn });

const entryRow = z.object({
  kind: z.string(),
  number: z.coerce.number(),
  token: z.string(),
  segments: z.string(),
  sequences: z.string(),
  first_click: z.coerce.number(),
  last_click: z.coerce.number(),
  position: positionColumn,
});

const manifestRow = entryRow
  .pick({ number: true, segments: true, first_click: true, last_click: true })
  .extend({ epoch: z.coerce.number() });

const OF_OWNER = "epoch = {epoch: UInt64} AND owner = {owner: String}";

/**
 * The table `batches`. A read must see every entry that was appended before it: replicas need
 * settings for that, see docs/batches.md.
 */
export class BatchesTable implements BatchLog {
  readonly #client: ClickHouseClient;

  constructor(client: ClickHouseClient) {
    this.#client = client;
  }

  async claim({ epoch, owner }: Claim): Promise<void> {
    await this.#append({ kind: "claim", epoch, owner, number: 0 });
  }

  async readHighestClaim(): Promise<Claim | undefined> {
    const [row] = await queryRows<unknown>(
      this.#client,
      // A checkpoint is also its owner's claim: the claim itself can expire first.
      `SELECT epoch, owner FROM batches WHERE kind IN ('claim', 'checkpoint')
        ORDER BY epoch DESC, owner DESC LIMIT 1`,
    );
    return row === undefined ? undefined : claimRow.parse(row);
  }

  async readClaimSight(): Promise<ClaimSight | undefined> {
    const [row] = await queryRows<unknown>(
      this.#client,
      `SELECT epoch, owner, count() AS entries, countIf(at <= now64(3)) AS past,
              dateDiff('millisecond', maxIf(at, at <= now64(3)), now64(3)) AS age,
              dateDiff('millisecond', now64(3), max(at)) AS ahead
         FROM batches
        WHERE kind = 'claim' AND (epoch, owner) IN (
                SELECT epoch, owner FROM batches WHERE kind = 'claim' ORDER BY epoch DESC, owner DESC LIMIT 1)
        GROUP BY epoch, owner`,
    );
    if (row === undefined) return undefined;
    const { epoch, owner, entries, past, age, ahead } = sightRow.parse(row);
    return {
      key: `${epoch} ${owner} ${entries}`,
      ageMs: past === 0 ? undefined : age,
      aheadMs: Math.max(0, ahead),
    };
  }

  async append({ epoch, owner }: Claim, entry: BatchEntry): Promise<void> {
    await this.#append({ epoch, owner, ...toColumns(entry) });
  }

  async appendCheckpoint({ epoch, owner }: Claim, checkpoint: Checkpoint): Promise<void> {
    const { number, segments, open, position } = checkpoint;
    await this.#append({
      kind: "checkpoint",
      epoch,
      owner,
      number,
      segments,
      open: JSON.stringify(open),
      position: formatPosition(position),
    });
  }

  async read(): Promise<{ checkpoint: Checkpoint; entries: BatchEntry[] } | undefined> {
    const [row] = await queryRows<unknown>(
      this.#client,
      `SELECT epoch, owner, number FROM batches WHERE kind = 'checkpoint'
        ORDER BY epoch DESC, owner DESC, number DESC LIMIT 1`,
    );
    if (row === undefined) return undefined;
    const place = checkpointRow.parse(row);
    const [content] = await queryRows<unknown>(
      this.#client,
      `SELECT segments, open, position FROM batches
        WHERE kind = 'checkpoint' AND ${OF_OWNER} AND number = {number: UInt64} LIMIT 1`,
      place,
    );
    const { segments, open, position } = contentRow.parse(content);
    const entries = await queryRows<unknown>(
      this.#client,
      `SELECT kind, number, token, segments, sequences, first_click, last_click, position FROM batches
        WHERE kind IN ('manifest', 'settled') AND ${OF_OWNER} AND number > {number: UInt64}`,
      place,
    );
    const checkpoint = {
      number: place.number,
      segments,
      open: z.array(manifestSchema).parse(JSON.parse(open)),
      position,
    };
    return { checkpoint, entries: entries.map((entry) => toEntry(entryRow.parse(entry))) };
  }

  /**
   * Reads the manifests of all owners after one place in the log and up to another, in order: at
   * most `max`, but all of one place.
   */
  async readManifests(after: LogPlace, upTo: LogPlace, max: number): Promise<PlacedManifest[]> {
    const rows = await queryRows<unknown>(
      this.#client,
      // WITH TIES: two owners can have one epoch, and then both have a batch of a number.
      `SELECT epoch, number, segments, first_click, last_click FROM batches
        WHERE kind = 'manifest' AND (epoch, number) > ({after_epoch: UInt64}, {after_number: UInt64})
          AND (epoch, number) <= ({epoch: UInt64}, {number: UInt64})
        ORDER BY epoch, number LIMIT {max: UInt32} WITH TIES`,
      {
        after_epoch: after.epoch,
        after_number: after.batch,
        epoch: upTo.epoch,
        number: upTo.batch,
        max,
      },
    );
    return rows.map((row) => {
      const { epoch, number, segments, first_click, last_click } = manifestRow.parse(row);
      return { epoch, batch: number, segments, firstClick: first_click, lastClick: last_click };
    });
  }

  /** A column that an entry's kind does not use has its type's default. */
  async #append(row: Record<string, string | number>): Promise<void> {
    await this.#client.insert({
      table: "batches",
      values: [row],
      format: "JSONEachRow",
      clickhouse_settings: { async_insert: 0, distributed_foreground_insert: 1 },
    });
  }
}

/** Which segments a manifest names, the time span of their clicks, and its place in the log. */
export type PlacedManifest = LogPlace & {
  segments: string;
  firstClick: number;
  lastClick: number;
};

const formatPosition = (position: StreamPosition | undefined): string =>
  position === undefined ? "" : JSON.stringify(position);

const toColumns = (entry: BatchEntry): Record<string, string | number> =>
  entry.kind === "settled"
    ? entry
    : {
        kind: entry.kind,
        number: entry.number,
        token: entry.manifest.token,
        segments: entry.manifest.segments,
        sequences: entry.manifest.sequences,
        first_click: entry.manifest.firstClick,
        last_click: entry.manifest.lastClick,
        position: formatPosition(entry.manifest.position),
      };

function toEntry(row: z.output<typeof entryRow>): BatchEntry {
  const { kind, number, token, segments, sequences, first_click, last_click, position } = row;
  if (kind !== "manifest") return { kind: "settled", number, segments };
  const clicks = { firstClick: first_click, lastClick: last_click };
  return { kind, number, manifest: { token, segments, sequences, position, ...clicks } };
}

/**
 * Repeats until it succeeds. Throws final errors, and any error when the worker stops. It is
 * `#retry` of `ClicksConsumer`, which shows the problem meanwhile.
 */
export type Retry = <T>(
  operation: () => Promise<T>,
  isFinal?: (error: unknown) => boolean,
) => Promise<T>;

const RENEW_MS = 2_000;

/** An owner whose claim was appended within this time is at work. */
export const RENEWED_MS = 6_000;

/**
 * Longest time for which a claim is renewed: another worker may be able to do what this one cannot.
 */
const BUSY_MAX_MS = 60_000;

/**
 * Does work that may take long, such as an insert into a busy ClickHouse, and renews the claim
 * meanwhile. The next batch is full then, so the owner fetches nothing, and another worker would
 * take over, which would make ClickHouse busier still. To renew a claim is to append it again,
 * which has the same meaning as once.
 */
export async function renewWhile<T>(
  log: BatchLog,
  claim: Claim,
  work: () => Promise<T>,
  renewMs = RENEW_MS,
): Promise<T> {
  let left = BUSY_MAX_MS / renewMs;
  const renewals = repeat(() => {
    // If this fails, another worker may take over, which is safe.
    if (left-- > 0) log.claim(claim).catch(() => undefined);
    return renewMs;
  }, renewMs);
  try {
    return await work();
  } finally {
    void renewals.stop();
  }
}

/** Batches after which an owner writes a checkpoint: about eight minutes at full load. */
const CHECKPOINT_BATCHES = 500;

/** An owner writes one at this age of the last: far below the TTL of the log. */
const CHECKPOINT_AGE_MS = DAY_MS;

export type Batch = { number: number; manifest: Manifest };

/** Writes an owner's entries into the log, and numbers them. */
export class LogWriter {
  readonly #log: BatchLog;
  readonly #claim: Claim;
  readonly #retry: Retry;
  /** Of the last batch or checkpoint. */
  #number = 0;
  #checkpoint = { number: 0, at: 0 };
  /** The last batch, if it is stored and no entry implies that yet. */
  #finished: Batch | undefined;

  constructor(log: BatchLog, claim: Claim, retry: Retry) {
    this.#log = log;
    this.#claim = claim;
    this.#retry = retry;
  }

  get number(): number {
    return this.#number;
  }

  /** Writes the manifest of the next batch, which implies that the batch before is stored. */
  async begin(segments: readonly BatchSegment[]): Promise<Batch> {
    this.#finished = undefined;
    const number = ++this.#number;
    const batch = { number, manifest: toManifest(`${this.#claim.owner}:${number}`, segments) };
    await this.#retry(() => this.#log.append(this.#claim, { kind: "manifest", ...batch }));
    return batch;
  }

  /** Notes that a whole batch is stored. The next entry will imply it. */
  finish(batch: Batch): void {
    this.#finished = batch;
  }

  /** Writes which segments of a batch are stored. */
  async settle({ number }: Batch, segments: string): Promise<void> {
    await this.#retry(() => this.#log.append(this.#claim, { kind: "settled", number, segments }));
  }

  isCheckpointDue(): boolean {
    const { number, at } = this.#checkpoint;
    return this.#number - number >= CHECKPOINT_BATCHES || Date.now() - at > CHECKPOINT_AGE_MS;
  }

  async writeCheckpoint(state: Omit<Checkpoint, "number">): Promise<void> {
    const number = ++this.#number;
    await this.#retry(() => this.#log.appendCheckpoint(this.#claim, { number, ...state }));
    this.#checkpoint = { number, at: Date.now() };
    this.#finished = undefined;
  }

  /** Writes that the last batch is stored, unless an entry implies it. */
  async release(): Promise<void> {
    if (this.#finished === undefined) return;
    const { number, manifest } = this.#finished;
    await this.#log.append(this.#claim, { kind: "settled", number, segments: manifest.segments });
    this.#finished = undefined;
  }
}

function toManifest(token: string, segments: readonly BatchSegment[]): Manifest {
  const sequences: Ranges = [];
  for (const { sequence } of segments) addToRanges(sequences, sequence);
  const last = segments.reduce((a, b) => (b.sequence > a.sequence ? b : a));
  return {
    token,
    segments: SegmentIndex.of(segments).format(),
    sequences: formatRanges(sequences),
    ...spanOf(segments),
    position: { sequence: last.sequence, publishedAt: last.publishedAt },
  };
}
