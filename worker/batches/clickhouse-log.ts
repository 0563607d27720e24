/** The log of batches in ClickHouse's table `batches` (0005_batches.sql). */
import type { ClickHouseClient } from "@clickhouse/client";
import * as z from "zod";

import { queryRows } from "../../shared/clicks/rollups.ts";
import type { BatchEntry, BatchLog, Claim, Position, ReadManifests } from "./entries.ts";

/** A column that an entry's kind does not use has its type's default. */
type Row = { kind: string; epoch: number; owner: string; number: number } & Partial<{
  token: string;
  segments: string;
  sequences: string;
  first_click: number;
  last_click: number;
  open: string;
  position: string;
}>;

const claimRow = z.object({ epoch: z.coerce.number(), owner: z.string() });
const sightRow = claimRow.extend({
  entries: z.coerce.number(),
  past: z.coerce.number(),
  age: z.coerce.number(),
  ahead: z.coerce.number(),
});
const checkpointRow = claimRow.extend({ number: z.coerce.number() });

const positionSchema = z.object({ sequence: z.number(), publishedAt: z.number() });

/** Empty in entries of versions that did not write positions. */
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
 * Creates the log. A read must see every entry that was appended before it: replicas need settings
 * for that, see docs/batches.md.
 */
export function createBatchLog(client: ClickHouseClient): BatchLog {
  async function append(row: Row): Promise<void> {
    await client.insert({
      table: "batches",
      values: [row],
      format: "JSONEachRow",
      clickhouse_settings: { async_insert: 0, distributed_foreground_insert: 1 },
    });
  }

  return {
    claim: ({ epoch, owner }) => append({ kind: "claim", epoch, owner, number: 0 }),

    async readHighestClaim() {
      const [row] = await queryRows<unknown>(
        client,
        // A checkpoint is also its owner's claim: the claim itself can expire first.
        `SELECT epoch, owner FROM batches WHERE kind IN ('claim', 'checkpoint')
          ORDER BY epoch DESC, owner DESC LIMIT 1`,
      );
      return row === undefined ? undefined : claimRow.parse(row);
    },

    readClaimSight: () => readClaimSight(client),

    append: ({ epoch, owner }, entry) => append({ epoch, owner, ...toColumns(entry) }),

    appendCheckpoint: ({ epoch, owner }, { number, segments, open, position }) =>
      append({
        kind: "checkpoint",
        epoch,
        owner,
        number,
        segments,
        open: JSON.stringify(open),
        position: formatPosition(position),
      }),

    read: () => readLog(client),
  };
}

async function readClaimSight(client: ClickHouseClient): ReturnType<BatchLog["readClaimSight"]> {
  const [row] = await queryRows<unknown>(
    client,
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

/** Creates the function that reads manifests. */
export const createManifestReader =
  (client: ClickHouseClient): ReadManifests =>
  async (after, upTo, max) => {
    const rows = await queryRows<unknown>(
      client,
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
  };

/** Reads the newest checkpoint, and the entries after it. */
async function readLog(client: ClickHouseClient): ReturnType<BatchLog["read"]> {
  const [row] = await queryRows<unknown>(
    client,
    `SELECT epoch, owner, number FROM batches WHERE kind = 'checkpoint'
      ORDER BY epoch DESC, owner DESC, number DESC LIMIT 1`,
  );
  if (row === undefined) return undefined;
  const { number, ...claim } = checkpointRow.parse(row);
  const parameters = { ...claim, number };
  const [content] = await queryRows<unknown>(
    client,
    `SELECT segments, open, position FROM batches
      WHERE kind = 'checkpoint' AND ${OF_OWNER} AND number = {number: UInt64} LIMIT 1`,
    parameters,
  );
  const { segments, open, position } = contentRow.parse(content);
  const entries = await queryRows<unknown>(
    client,
    `SELECT kind, number, token, segments, sequences, first_click, last_click, position FROM batches
      WHERE kind IN ('manifest', 'settled') AND ${OF_OWNER} AND number > {number: UInt64}`,
    parameters,
  );
  return {
    checkpoint: {
      number,
      segments,
      open: z.array(manifestSchema).parse(JSON.parse(open)),
      position,
    },
    entries: entries.map((entry) => toEntry(entryRow.parse(entry))),
  };
}

const formatPosition = (position: Position | undefined): string =>
  position === undefined ? "" : JSON.stringify(position);

const toColumns = (entry: BatchEntry): Omit<Row, keyof Claim> =>
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
