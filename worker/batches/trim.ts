/**
 * Room in the stream for segments that are not stored yet. The stream keeps stored ones for days, in case ClickHouse
 * loses them, and when it is full it refuses new ones: so before it is, the oldest that are stored are deleted.
 */
import type { NatsConnection } from "nats";

import { CLICKS_STREAM, CLICKS_TRIMMED_AT } from "../../shared/contracts/streams.ts";
import { readConsumer } from "./stream.ts";

/** The share of its largest size that a stream has after it was trimmed, if so much of it is stored. */
const TRIMMED_TO = 0.5;

/**
 * Deletes the oldest stored segments of a stream that is nearly full. The consumer's place must be one in this stream
 * (worker/batches/position.ts). Returns how many it deleted.
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
  // What comes before the sequence.
  const { purged } = await streams.purge(CLICKS_STREAM, { seq });
  return purged;
}
