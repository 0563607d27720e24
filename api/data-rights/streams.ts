/**
 * Erases clicks from what NATS has of them: segments stay in `CLICKS` for days after they are
 * stored, in case ClickHouse loses them, and those that it rejected stay in `CLICKS_DLQ`. A segment
 * has clicks of many accounts. So it is replaced by one with the same id and number of clicks, in
 * which the erased ones are nobody's: workers know it as stored, and after a restore of ClickHouse
 * the others' clicks have the ids that they had.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import type { JetStreamManager, NatsConnection, StoredMsg } from "nats";

import { toSlice } from "../../shared/bytes.ts";
import { listQuarantine } from "../../shared/clicks/quarantine.ts";
import {
  type Click,
  decodeClick,
  encodeClick,
  newRequestClick,
  RECORD_BYTES_MAX,
} from "../../shared/contracts/click-record.ts";
import {
  decodeSegment,
  scanSegment,
  SEGMENT_HEADER_BYTES,
} from "../../shared/contracts/click-segment.ts";
import {
  CLICKS_STREAM,
  CLICKS_SUBJECT,
  DEAD_LETTERS_STREAM,
  findMessage,
  LIMITS_STREAM,
  limitSubject,
  readMessages,
  unlessNoStream,
} from "../../shared/contracts/streams.ts";
import { ID_BYTES, type Uuid } from "../../shared/ids.ts";

export type IsErased = (click: Click) => boolean;

const SEGMENT_STREAMS = [CLICKS_STREAM, DEAD_LETTERS_STREAM];

/** The ids of a click whose link and account are nobody's. */
const NOBODYS_IDS = toSlice(Buffer.alloc(2 * ID_BYTES));

/**
 * The messages of a stream of segments; none before it was made. Throws at the end where NATS
 * counts messages that it does not return: as a disk has damaged them, nobody knows whose clicks
 * they have.
 */
async function* readSegments(
  manager: JetStreamManager,
  stream: string,
): AsyncGenerator<StoredMsg, void, undefined> {
  const before = (await unlessNoStream(manager.streams.info(stream)))?.state;
  if (before === undefined) return;
  let missing = before.messages;
  for await (const message of readMessages(manager, stream)) {
    missing--;
    yield message;
  }
  if (missing <= 0) return;
  // Workers delete what is stored, the oldest first.
  const after = (await manager.streams.info(stream)).state;
  if (missing > after.first_seq - before.first_seq)
    throw new Error(
      `${missing} messages of ${stream} cannot be read, as a part of its data is damaged: nats stream rm ${stream} once its other clicks are stored (docs/runbook.md#shorthopstreamdamaged), and run this again`,
    );
}

/** How many clicks each stream of segments has that are to be erased. */
export async function countInStreams(
  nats: NatsConnection,
  isErased: IsErased,
): Promise<Record<string, number>> {
  const manager = await nats.jetstreamManager();
  const counts: Record<string, number> = {};
  for (const stream of SEGMENT_STREAMS) {
    counts[stream] = 0;
    for await (const { data } of readSegments(manager, stream))
      counts[stream] += decodeSegment(Buffer.from(data))?.clicks.filter(isErased).length ?? 0;
  }
  return counts;
}

/**
 * Replaces segments of both streams that have such clicks; what was a dead letter is for workers
 * again. All that has them must be stored: nothing is published that was not. Returns how many
 * clicks each stream had.
 */
export async function eraseFromStreams(
  nats: NatsConnection,
  isErased: IsErased,
): Promise<Record<string, number>> {
  const manager = await nats.jetstreamManager();
  const counts: Record<string, number> = {};
  for (const stream of SEGMENT_STREAMS) {
    counts[stream] = 0;
    for await (const { seq, data } of readSegments(manager, stream)) {
      const replaced = replaceClicks(Buffer.from(data), isErased);
      if (replaced === undefined) continue;
      counts[stream] += replaced.erased;
      // Another id of the message, as JetStream would drop the segment's own as a duplicate.
      const options = { msgID: `erased:${stream}:${seq}:${Date.now()}` };
      await nats.jetstream().publish(CLICKS_SUBJECT, replaced.bytes, options);
      await manager.streams.deleteMessage(stream, seq);
    }
  }
  return counts;
}

/** How many of these ledgers of click limits there are. */
export const countLedgers = async (
  nats: NatsConnection,
  ledgers: readonly Uuid[],
): Promise<number> => (await findLedgers(await nats.jetstreamManager(), ledgers)).length;

/** Deletes ledgers of click limits. */
export async function deleteLedgers(nats: NatsConnection, ledgers: readonly Uuid[]): Promise<void> {
  const manager = await nats.jetstreamManager();
  for (const { seq } of await findLedgers(manager, ledgers))
    await manager.streams.deleteMessage(LIMITS_STREAM, seq);
}

async function findLedgers(
  manager: JetStreamManager,
  ledgers: readonly Uuid[],
): Promise<StoredMsg[]> {
  const found: StoredMsg[] = [];
  for (const ledger of ledgers) {
    const query = { last_by_subj: limitSubject(ledger) };
    const message = await unlessNoStream(findMessage(manager, LIMITS_STREAM, query));
    if (message !== undefined) found.push(message);
  }
  return found;
}

/**
 * Copies a segment with clicks of nobody in place of the erased ones; undefined if it has none.
 * What is no click of it, as behind a torn record, is left out.
 */
export function replaceClicks(
  bytes: Buffer,
  isErased: IsErased,
): { bytes: Buffer; erased: number } | undefined {
  const parts: Buffer[] = [bytes.subarray(0, SEGMENT_HEADER_BYTES)];
  let erased = 0;
  for (const record of scanSegment(bytes)?.records ?? []) {
    const click = decodeClick(bytes, record);
    const goes = click !== undefined && isErased(click);
    if (goes) erased++;
    parts.push(goes ? encodeNobodys(click.time) : bytes.subarray(record.start, record.end));
  }
  return erased === 0 ? undefined : { bytes: Buffer.concat(parts), erased };
}

function encodeNobodys(time: number): Buffer {
  const record = Buffer.alloc(RECORD_BYTES_MAX);
  const click = { ...newRequestClick(), time, ids: NOBODYS_IDS };
  return record.subarray(0, encodeClick(record, 0, click));
}

// Clicks in the journals of redirectors on this host; those of other hosts are waited for.

/** Where units have the journals of redirectors. */
const STATE_DIR = "/var/lib";

/** The directories of the journals that units have on this host, as far as one may read them. */
export const findJournals = (): string[] =>
  namesIn(STATE_DIR)
    .filter((name) => name.startsWith("shorthop-redirector-"))
    .map((name) => join(STATE_DIR, name));

/** Clicks in segments that are not recycled yet. */
export const countInJournals = (dirs: readonly string[], isErased: IsErased): number =>
  dirs
    .flatMap((dir) => namesIn(dir).map((name) => join(dir, name)))
    .filter((path) => /\.(?:open|segment)$/.test(path))
    .reduce((sum, path) => sum + clicksIn(path).filter(isErased).length, 0);

/** Files that nobody can read yet, and that may have some. */
export const listUnreadable = (dirs: readonly string[]): string[] =>
  dirs.flatMap((dir) => listQuarantine(dir).map((name) => join(dir, name)));

function namesIn(dir: string): string[] {
  try {
    return readdirSync(dir);
  } catch {
    return [];
  }
}

/** None of a file that is recycled meanwhile. */
function clicksIn(path: string) {
  try {
    return decodeSegment(readFileSync(path))?.clicks ?? [];
  } catch {
    return [];
  }
}
