/** The stream of segments, as scenarios read, delete and repeat it. */
import { readdirSync } from "node:fs";
import { join } from "node:path";

import type { NatsConnection } from "nats";

import { formatSegmentId, readSegmentId } from "../../../shared/contracts/click-segment.ts";
import {
  CLICKS_STREAM,
  CLICKS_SUBJECT,
  CLICKS_WORKER,
  DEAD_LETTERS_STREAM,
} from "../../../shared/contracts/streams.ts";
import { type Topology, withJetStream, withNats } from "../topologies/topology.ts";

/** Messages that are read, and worked on, at a time. */
const AT_ONCE = 100;

/**
 * Calls `use` with every segment that is in the stream, in their order; waits for it after each
 * {@link AT_ONCE}.
 */
async function readStream(
  nats: NatsConnection,
  use: (id: string, data: Uint8Array) => Promise<void> | void,
): Promise<void> {
  const { streams } = await nats.jetstreamManager();
  const { state } = await streams.info(CLICKS_STREAM);
  for (let first = state.first_seq; first <= state.last_seq; first += AT_ONCE) {
    const count = Math.min(AT_ONCE, state.last_seq + 1 - first);
    const messages = await Promise.all(
      Array.from({ length: count }, (_, i) =>
        streams.getMessage(CLICKS_STREAM, { seq: first + i }),
      ),
    );
    const uses = messages.map(async ({ data }) => {
      const id = readSegmentId(Buffer.from(data));
      await use(id === undefined ? "an unreadable segment" : formatSegmentId(id), data);
    });
    await Promise.all(uses);
  }
}

/** Number of segments that the workers have not stored yet, as far as JetStream knows. */
export const countWaiting = (topology: Topology): Promise<number> =>
  withJetStream(topology.connectNats(), async ({ consumers }) => {
    const { num_pending, num_ack_pending } = await consumers.info(CLICKS_STREAM, CLICKS_WORKER);
    return num_pending + num_ack_pending;
  });

/** Deletes the stream. Its segments are kept in a folder, a file for each. */
export const deleteStream = (topology: Topology, folder: string): Promise<void> =>
  withNats(topology.connectNats(), async (nats) => {
    await readStream(nats, async (id, data) => void (await Bun.write(join(folder, id), data)));
    await (await nats.jetstreamManager()).streams.delete(CLICKS_STREAM);
  });

/**
 * Publishes everything in the stream and in the folder again, as when JetStream has forgotten it.
 */
export const publishAgain = (topology: Topology, folder: string): Promise<void> =>
  withNats(topology.connectNats(), async (nats) => {
    const publish = async (data: Uint8Array): Promise<void> =>
      void (await nats.jetstream().publish(CLICKS_SUBJECT, data));
    for (const name of readdirSync(folder))
      await publish(await Bun.file(join(folder, name)).bytes());
    await readStream(nats, (_, data) => publish(data));
  });

/** The segments that are in the stream more than once, and the number of dead letters. */
export const findRepeated = (topology: Topology): Promise<{ repeated: string[]; dead: number }> =>
  withNats(topology.connectNats(), async (nats) => {
    const seen = new Set<string>();
    const repeated: string[] = [];
    await readStream(nats, (id) => {
      if (seen.has(id)) repeated.push(id);
      seen.add(id);
    });
    const { streams } = await nats.jetstreamManager();
    const { state } = await streams.info(DEAD_LETTERS_STREAM);
    return { repeated, dead: state.messages };
  });
