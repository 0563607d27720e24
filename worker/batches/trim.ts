/**
 * Keeps room in the stream for new segments. The stream keeps stored segments for days, in case
 * ClickHouse loses them, and rejects new ones when it is full. So the oldest stored segments are
 * deleted before it is full.
 */
import type { NatsConnection } from "nats";

import { CLICKS_STREAM, CLICKS_TRIMMED_AT } from "../../shared/contracts/streams.ts";
import { readConsumer } from "./stream.ts";

/** Share of its maximum size to which a stream is trimmed, if enough of its segments are stored. */
const TRIMMED_TO = 0.5;

/**
 * Deletes the oldest stored segments of a stream that is nearly full. The consumer's position must
 * belong to this stream (worker/batches/position.ts). Returns how many it deleted.
 */
export async function trimStream(connection: NatsConnection): Promise<number> {
  const { streams } = await connection.jetstreamManager();
  const { config, state } = await streams.info(CLICKS_STREAM);
  const { max_bytes: max } = config;
  if (max <= 0 || state.bytes < CLICKS_TRIMMED_AT * max) return 0;
  const { ack_floor: stored } = await readConsumer(connection);
  const surplus = Math.ceil(state.messages * (1 - (TRIMMED_TO * max) / state.bytes));
  const seq = Math.min(state.first_seq + surplus, stored.stream_seq + 1);
  if (seq <= state.first_seq) return 0;
  // Purges the messages before the sequence.
  const { purged } = await streams.purge(CLICKS_STREAM, { seq });
  return purged;
}
