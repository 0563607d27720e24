/**
 * Detects losses of the stream `LINKS` by comparing it with PostgreSQL's record and with its last
 * heartbeat.
 */
import type { Heartbeat } from "../../shared/contracts/feed-notices.ts";
import type { FeedRow, StreamPosition } from "./sql.ts";

/** Why the stream lacks links, or has states newer than PostgreSQL's. */
export type StreamLoss =
  /** The loss is already recorded, or an operator requested a fill. */
  | "incomplete"
  /** It is a different stream: NATS lost its data, or an operator deleted the stream. */
  | "recreated"
  /** It ends before messages that it had: NATS restored an older copy of its data. */
  | "rolled_back"
  /**
   * It has fewer messages than before, although each subject keeps its last one: part of its data
   * is damaged.
   */
  | "thinned"
  /** It was never filled: it has no epoch below the versions of all its links. */
  | "never_filled"
  /**
   * Its heartbeat was published by a later state of the database: PostgreSQL was restored from a
   * backup.
   */
  | "database_restored";

/** Losses that a newly elected leader may report briefly. */
export const PASSING: ReadonlySet<StreamLoss> = new Set(["rolled_back", "thinned"]);

type Observation = {
  /** Read before the stream, which therefore has at least as many messages as the row says. */
  before: FeedRow;
  stream: StreamPosition;
  /**
   * The highest sequence number that the stream acknowledged to this process and that is not
   * recorded yet; 0 for none.
   */
  acknowledged: number;
  /** The stream's last heartbeat; undefined when there is none, or it is of an earlier version. */
  heartbeat: Heartbeat | undefined;
  /** The row as read after the stream: it is at least as recent as the heartbeat. */
  after: FeedRow;
};

/** Returns what the stream has lost; undefined for nothing. */
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
