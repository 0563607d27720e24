/** What the stream `LINKS` has: the sequence number of the last message of each subject. */
import { AckPolicy, DeliverPolicy, type NatsConnection } from "nats";

import { HEARTBEAT_SUBJECT, LINKS_STREAM } from "../../shared/contracts/streams.ts";

/** One pull takes tens of milliseconds. */
const PULL_BATCH = 5_000;
const PULL_EXPIRES_MS = 5_000;

/** The server deletes a consumer that has not pulled for this long. */
const INACTIVE_NS = 10_000_000_000;

/**
 * Sequence numbers by subject. Subjects are kept as hashes, as there may be millions: a wrong number makes a publication
 * fail that expects it, and nothing worse.
 */
export type Sequences = {
  /** The sequence number of a subject's last message; 0 when it has none. */
  get(subject: string): number;
  /** Forgets a subject. */
  delete(subject: string): void;
  size(): number;
};

/** Reads the sequence numbers of all subjects up to the message `end`; throws when the stream cannot be read. */
export async function readSequences(connection: NatsConnection, end: number): Promise<Sequences> {
  const sequences = new Map<number, number>();
  if (end > 0)
    for await (const { subject, sequence } of readHeaders(connection, end))
      if (subject !== HEARTBEAT_SUBJECT) sequences.set(hash(subject), sequence);
  return {
    get: (subject) => sequences.get(hash(subject)) ?? 0,
    delete: (subject) => void sequences.delete(hash(subject)),
    size: () => sequences.size,
  };
}

async function* readHeaders(
  connection: NatsConnection,
  end: number,
): AsyncGenerator<{ subject: string; sequence: number }> {
  const manager = await connection.jetstreamManager({ checkAPI: false });
  const added = await manager.consumers.add(LINKS_STREAM, {
    ack_policy: AckPolicy.None,
    deliver_policy: DeliverPolicy.All,
    headers_only: true,
    inactive_threshold: INACTIVE_NS,
    mem_storage: true,
    num_replicas: 1,
  });
  const stream = await connection.jetstream({ checkAPI: false }).streams.get(LINKS_STREAM);
  const consumer = stream.getConsumerFromInfo(added);
  let delivered = 0;
  for (let pending = added.num_pending; pending > 0;) {
    const before = delivered;
    const options = { max_messages: PULL_BATCH, expires: PULL_EXPIRES_MS, bind: true };
    for await (const { subject, seq: sequence, info } of await consumer.fetch(options)) {
      if (info.deliverySequence !== ++delivered) throw new Error("Messages of LINKS were lost.");
      if (sequence > end) return;
      yield { subject, sequence };
      ({ pending } = info);
      if (pending === 0) return;
    }
    if (delivered === before) throw new Error("LINKS delivers no messages.");
  }
}

/** 53 bits, which a number holds: two of ten million subjects have the same once in a hundred times. */
const hash = (subject: string): number =>
  Bun.hash.xxHash32(subject, 1) + (Bun.hash.xxHash32(subject, 2) & 0x1f_ffff) * 2 ** 32;
