/** The position of the store in the links feed, and whether it is still valid in a stream. */
import type { StreamInfo } from "nats";

import type { Heartbeat } from "../../shared/contracts/feed-notices.ts";
import type { FeedState } from "../../shared/links-store/schema.ts";

/**
 * A position in the feed: the stream, identified by its creation time, and the last message
 * written.
 */
export type Position = { stream: string | null; sequence: number };

type StreamPosition = Pick<StreamInfo, "created"> & {
  state: { last_seq: number };
  config: { num_replicas: number };
};

/**
 * Maximum difference between the sequence numbers of a message on several replicas: after a
 * leader's death, nats-server 2.9 shifts them by up to the number of messages being published
 * (decision 17).
 */
export const NUMBERING_DIFFERENCE_MAX = 1_000;

/** Whether the servers of a stream may number its messages differently. */
export const isReplicated = ({ config }: Pick<StreamPosition, "config">): boolean =>
  config.num_replicas > 1;

/**
 * Whether the stream continues from the position. Otherwise it was recreated or rolled back, or its
 * new leader has not caught up yet. Gaps in the sequence are no loss: later versions replaced those
 * messages.
 */
export const continues = (position: Position, info: StreamPosition): boolean =>
  position.stream === info.created &&
  info.state.last_seq + (isReplicated(info) ? NUMBERING_DIFFERENCE_MAX : 0) >= position.sequence;

/** The nanoseconds of a JetStream timestamp, rounded like those of a message. */
export function toNanos(time: string): number {
  const fraction = /\.(\d{1,9})Z$/.exec(time)?.[1] ?? "";
  const seconds = Date.parse(`${time.slice(0, 19)}Z`) / 1_000;
  return Number(`${seconds}${fraction.padEnd(9, "0")}`);
}

/** What a heartbeat announces of its stream, for the store. */
export const toAnnounced = ({ complete, epoch }: Heartbeat): FeedState["announced"] => ({
  complete,
  epoch,
});

/**
 * Whether a fill of the stream may have begun since the store was at its position, as the stream's
 * heartbeat announces something else. Then the position is meaningless: a stream that was rolled
 * back before has continued from an earlier number, where the fill's messages start. A fill that
 * the store was reading already does not matter.
 */
export const isOutdated = (
  { announced }: { announced: FeedState["announced"] },
  heartbeat: Heartbeat | undefined,
): boolean =>
  heartbeat !== undefined &&
  !(announced?.complete === heartbeat.complete && announced.epoch === heartbeat.epoch);

/**
 * How often a stream that does not continue from the position is read again, at which interval,
 * before the loss is accepted.
 */
const CONFIRMATIONS = 6;
const CONFIRMATION_INTERVAL_MS = 500;

/**
 * Returns the position to read from: the current one as long as the stream continues from it, or
 * the stream's end if that is before it, else the stream's beginning. The new leader of a
 * replicated stream may lag for a moment, so a loss is accepted only after repeated reads. Then
 * calls `onLost`.
 */
export async function resume<Present extends Position>(
  present: Present,
  readPosition: () => Promise<StreamPosition>,
  onLost: () => void,
  wait: (ms: number) => Promise<unknown> = Bun.sleep,
): Promise<Present | { stream: string; sequence: number }> {
  for (let attempt = 1; ; attempt++) {
    const position = await readPosition();
    const { created: stream, state } = position;
    if (continues(present, position))
      return state.last_seq >= present.sequence ? present : { stream, sequence: state.last_seq };
    const isFirst = present.stream === null;
    if (isFirst || attempt === CONFIRMATIONS) {
      if (!isFirst) onLost();
      return { stream, sequence: 0 };
    }
    await wait(CONFIRMATION_INTERVAL_MS);
  }
}
