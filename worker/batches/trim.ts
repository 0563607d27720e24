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
 * Servers whose consumers forget, with a purge, which messages were delivered and are not
 * acknowledged: if their worker ended then, nobody would get them
 * (https://github.com/nats-io/nats-server/pull/3892, in 2.9.15).
 */
const FORGETFUL = /^[01]\.|^2\.[0-8]\.|^2\.9\.(?:\d|1[0-4])(?!\d)/;

/** How long such a server is given until everything that was delivered is acknowledged. */
const SETTLED_MS = 5_000;
const POLL_MS = 100;

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
  // While ClickHouse is away nothing is acknowledged: such a stream gets full, and journals keep
  // what it refuses.
  if (isForgetful(connection) && !(await waitUntilSettled(connection))) return 0;
  // Purges the messages before the sequence.
  const { purged } = await streams.purge(CLICKS_STREAM, { seq });
  return purged;
}

const isForgetful = ({ info }: NatsConnection): boolean => FORGETFUL.test(info?.version ?? "");

/**
 * Whether within {@link SETTLED_MS} everything that was delivered is acknowledged, and no fetch
 * waits.
 */
async function waitUntilSettled(connection: NatsConnection): Promise<boolean> {
  const giveUpAt = performance.now() + SETTLED_MS;
  do {
    const { num_ack_pending, num_waiting } = await readConsumer(connection);
    if (num_ack_pending === 0 && num_waiting === 0) return true;
    await Bun.sleep(POLL_MS);
  } while (performance.now() < giveUpAt);
  return false;
}
