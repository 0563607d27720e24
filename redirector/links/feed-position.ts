/** The position of the store in the links feed, and whether a stream still has it. */
import type { StreamInfo } from "nats";

import type { Heartbeat } from "../../shared/contracts/feed-notices.ts";

/** A position in the feed: the stream, identified by its creation time, and the last message written. */
export type Position = { stream: string | null; sequence: number };

type StreamPosition = Pick<StreamInfo, "created"> & {
  state: { last_seq: number };
  config: { num_replicas: number };
};

/**
 * By how much replicas of a stream may number the same message differently: nats-server 2.9 does after the death of a
 * leader, by as many as it was publishing (decision 17).
 */
export const NUMBERING_DIFFERENCE_MAX = 1_000;

/** Whether the servers of a stream may number its messages differently. */
export const isReplicated = ({ config }: Pick<StreamPosition, "config">): boolean =>
  config.num_replicas > 1;

/**
 * Whether the stream continues from the position. Otherwise it was recreated or rolled back, or its new leader has not
 * caught up yet. Gaps in the sequence are no loss: they are versions that later ones replaced.
 */
export const continues = (position: Position, info: StreamPosition): boolean =>
  position.stream === info.created &&
  info.state.last_seq + (isReplicated(info) ? NUMBERING_DIFFERENCE_MAX : 0) >= position.sequence;

/** The nanoseconds of a time as JetStream writes it, rounded as those of a message are. */
export function toNanos(time: string): number {
  const fraction = /\.(\d{1,9})Z$/.exec(time)?.[1] ?? "";
  const seconds = Date.parse(`${time.slice(0, 19)}Z`) / 1_000;
  return Number(`${seconds}${fraction.padEnd(9, "0")}`);
}

/**
 * Whether the stream has been filled since the store had all of it, or is being filled. Then a position says nothing: if
 * the stream was rolled back before, it has counted on from an earlier one, and what the filling published begins there.
 */
export const isOutdated = (
  { epoch }: { epoch: number },
  heartbeat: Heartbeat | undefined,
): boolean => heartbeat !== undefined && !(heartbeat.complete && heartbeat.epoch === epoch);

/** How often and how far apart a stream is asked that does not continue from the position, before that is believed. */
const CONFIRMATIONS = 6;
const CONFIRMATION_INTERVAL_MS = 500;

/**
 * Returns the position to read from: the present one as long as the stream continues from it, or the stream's end if that
 * is before it, else the stream's beginning. The new leader of a replicated stream may be behind for a moment, so a loss
 * is only believed when the stream is asked again and again. Then calls `onLost`.
 */
export async function resume<Present extends Position>(
  present: Present,
  readPosition: () => Promise<StreamPosition>,
  onLost: () => void,
  wait: (ms: number) => Promise<unknown> = Bun.sleep,
): Promise<Present | { stream: string; sequence: number }> {
  for (let asked = 1; ; asked++) {
    const position = await readPosition();
    const { created: stream, state } = position;
    if (continues(present, position))
      return state.last_seq >= present.sequence ? present : { stream, sequence: state.last_seq };
    const isFirst = present.stream === null;
    if (isFirst || asked === CONFIRMATIONS) {
      if (!isFirst) onLost();
      return { stream, sequence: 0 };
    }
    await wait(CONFIRMATION_INTERVAL_MS);
  }
}
