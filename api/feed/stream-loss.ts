/** Whether the stream `LINKS` has lost something, judged by what PostgreSQL remembers of it and by its last heartbeat. */
import type { Heartbeat } from "../../shared/contracts/feed-notices.ts";
import type { FeedRow, StreamPosition } from "./sql.ts";

/** Why the stream lacks links, or has states that PostgreSQL does not know. */
export type StreamLoss =
  /** It was found before, or an operator wants the stream filled. */
  | "incomplete"
  /** It is another stream: NATS came back empty, or an operator deleted the stream. */
  | "recreated"
  /** It ends before messages that it had: an older copy of its data came back. */
  | "rolled_back"
  /** It has fewer messages than before, though each subject keeps its last one: a part of its data is damaged. */
  | "thinned"
  /** It was never filled: it has no epoch that is lower than the versions of all its links. */
  | "never_filled"
  /** Its heartbeat was published by a later state of the database: PostgreSQL came back from a backup. */
  | "database_restored";

/** Losses that a leader which has just been elected may show for a moment. */
export const PASSING: ReadonlySet<StreamLoss> = new Set(["rolled_back", "thinned"]);

type Observation = {
  /** The row as it was before the stream was read: the stream has at least as much. */
  before: FeedRow;
  stream: StreamPosition;
  /** The highest sequence number that this process was given by the stream and has not recorded; 0 when it has all. */
  acknowledged: number;
  /** The stream's last heartbeat; undefined when it has none, or one of an earlier version. */
  heartbeat: Heartbeat | undefined;
  /** The row as it was after that: it is at least as late as the heartbeat. */
  after: FeedRow;
};

/** Returns what the stream has lost; undefined when it has all. */
export function findLoss({
  before,
  stream,
  acknowledged,
  heartbeat,
  after,
}: Observation): StreamLoss | undefined {
  if (after.incomplete_since !== null) return "incomplete";
  if (heartbeat !== undefined && heartbeat.version > after.version) return "database_restored";
  if (after.epoch === null) return "never_filled";
  if (before.stream !== stream.created)
    return after.stream === stream.created ? undefined : "recreated";
  if (stream.last_sequence < Math.max(before.last_sequence, acknowledged)) return "rolled_back";
  return stream.messages < before.messages ? "thinned" : undefined;
}
