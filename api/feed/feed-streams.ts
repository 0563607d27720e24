/**
 * The streams of the links feed, as this process publishes to them. The version of a subject never
 * decreases.
 */
import type { JetStreamClient, JetStreamManager, NatsConnection } from "nats";

import { encodeLinkMessage, type LinkMessage } from "../../shared/contracts/link-record.ts";
import { isInStream, type LinksStream } from "../../shared/contracts/links-streams.ts";
import {
  decodeLinkMessage,
  ensureLinksStream,
  jetStreamErrorCode,
  linkSubject,
  NO_MESSAGE,
  WRONG_LAST_SEQUENCE,
} from "../../shared/contracts/streams.ts";
import type { Log } from "../../shared/log.ts";

/** How long a request waits for the feed before it responds with `X-Propagation: pending`. */
export const PUBLISH_TIMEOUT_MS = 2_000;

/** Lost races for a subject (another process published first) until the relay retries later. */
const PUBLISH_RACES_MAX = 10;

/** Pause before the streams are opened again. */
const OPEN_INTERVAL_MS = 500;

type FeedStreamsDeps = {
  nats: Promise<NatsConnection>;
  /** Replicas of each stream, if this process creates it. */
  streamReplicas: number;
  /** The streams of all feeds that changes are published to. */
  streams: readonly LinksStream[];
  log: Log;
};

type JetStream = { client: JetStreamClient; manager: JetStreamManager };

export type FeedStreams = ReturnType<typeof createFeedStreams>;

export function createFeedStreams({ nats, streamReplicas, streams, log }: FeedStreamsDeps) {
  let jetStream: JetStream | undefined;
  /** The highest sequence numbers by the names of streams. */
  const acknowledged = new Map<string, number>();

  const onAcknowledged = ({ name }: LinksStream, sequence: number): void =>
    void acknowledged.set(name, Math.max(acknowledged.get(name) ?? 0, sequence));

  return {
    /** Whether the streams have been opened. */
    isOpen: () => jetStream !== undefined,
    /** Opens the streams and creates those that do not exist, however long that takes. */
    async open(isStopped: () => boolean): Promise<void> {
      const connection = await nats;
      while (!isStopped()) {
        try {
          const manager = await connection.jetstreamManager({ timeout: PUBLISH_TIMEOUT_MS });
          for (const stream of streams) await ensureLinksStream(manager, streamReplicas, stream);
          jetStream = { client: connection.jetstream({ timeout: PUBLISH_TIMEOUT_MS }), manager };
          return;
        } catch (error) {
          log.warn({ error }, "links_stream_unavailable");
          await Bun.sleep(OPEN_INTERVAL_MS);
        }
      }
    },
    /**
     * Publishes a message to each stream that holds its link. Throws before the streams are open.
     */
    async publish(
      message: LinkMessage,
      expected?: "absent",
      targets = streams.filter((stream) => isInStream(stream, message)),
    ): Promise<void> {
      const opened = jetStream;
      if (opened === undefined) throw new Error("The streams of the links feed are not open.");
      const publishing = targets.map(async (stream) =>
        onAcknowledged(stream, await publishIfNewer(opened, stream, message, expected)),
      );
      await Promise.all(publishing);
    },
    onAcknowledged,
    /**
     * The highest sequence number that a stream has acknowledged since the last call; 0 for none.
     */
    takeAcknowledged({ name }: LinksStream): number {
      const taken = acknowledged.get(name) ?? 0;
      acknowledged.delete(name);
      return taken;
    },
  };
}

/**
 * Publishes a message unless the stream holds the same or a later version. Returns the sequence
 * number of the subject's last message. The expected last sequence of the subject (optimistic
 * locking) makes comparison and write atomic across processes. It is read first instead of being
 * learned from a failed publish: after failed publishes, replicas of nats-server 2.9 number their
 * messages differently (decision 17).
 */
async function publishIfNewer(
  { client, manager }: JetStream,
  stream: LinksStream,
  message: LinkMessage,
  expected?: "absent",
): Promise<number> {
  const subject = linkSubject(message, stream);
  const bytes = encodeLinkMessage(message);
  const readLast = () => readLastMessage(manager, stream.name, subject);
  let last = expected === "absent" ? undefined : await readLast();
  for (let race = 0; race < PUBLISH_RACES_MAX; race++) {
    if (last !== undefined && last.version >= message.version) return last.sequence;
    try {
      const { seq } = await client.publish(subject, bytes, {
        expect: { lastSubjectSequence: last?.sequence ?? 0 },
      });
      return seq;
    } catch (error) {
      if (jetStreamErrorCode(error) !== WRONG_LAST_SEQUENCE) throw error;
    }
    last = await readLast();
  }
  throw new Error(`Lost ${PUBLISH_RACES_MAX} races against other publishers.`);
}

async function readLastMessage(manager: JetStreamManager, stream: string, subject: string) {
  try {
    const message = await manager.streams.getMessage(stream, { last_by_subj: subject });
    // A malformed message is replaced like an older version.
    const version = decodeLinkMessage(subject, message.data)?.version ?? -1;
    return { sequence: message.seq, version };
  } catch (error) {
    if (jetStreamErrorCode(error) === NO_MESSAGE) return undefined;
    throw error;
  }
}
