/** The position of the cache in the links feed, and whether a stream still has it. */
import type { StreamInfo } from "nats";

/** A position in the feed: the stream, identified by its creation time, and the last change applied. */
export type Cursor = { stream: string; sequence: number };

type Position = Pick<StreamInfo, "created"> & { state: { last_seq: number } };

/**
 * Whether the stream continues from the cursor. Otherwise it was recreated or rolled back, or its new leader has not
 * caught up yet. Gaps in the sequence are no loss: they are versions that later ones replaced.
 */
export const continues = (cursor: Cursor, { created, state }: Position): boolean =>
  cursor.stream === created && state.last_seq >= cursor.sequence;

/** The end of the stream: links that are requested later are fetched. */
const endOf = ({ created, state }: Position): Cursor => ({
  stream: created,
  sequence: state.last_seq,
});

/** How often and how far apart a stream is asked that does not continue from the cursor, before that is believed. */
const CONFIRMATIONS = 6;
const CONFIRMATION_INTERVAL_MS = 500;

/**
 * Returns the cursor to read from: the present one as long as the stream continues from it, else the end of the stream.
 * The new leader of a replicated stream may be behind for a moment, so a loss is only believed when the stream is asked
 * again and again. Then calls `onLost`.
 */
export async function resume(
  cursor: Cursor | undefined,
  readPosition: () => Promise<Position>,
  onLost: () => void,
  wait: (ms: number) => Promise<unknown> = Bun.sleep,
): Promise<Cursor> {
  for (let asked = 1; ; asked++) {
    const position = await readPosition();
    if (cursor === undefined) return endOf(position);
    if (continues(cursor, position)) return cursor;
    if (asked === CONFIRMATIONS) {
      onLost();
      return endOf(position);
    }
    await wait(CONFIRMATION_INTERVAL_MS);
  }
}
