/** Sends segments to JetStream. */
import type { JetStreamClient, NatsConnection } from "nats";

import { Backoff } from "../../shared/backoff.ts";
import { formatSegmentId, SEGMENT_BYTES_MAX } from "../../shared/contracts/click-segment.ts";
import { CLICKS_SUBJECT, ensureClicksStream } from "../../shared/contracts/streams.ts";
import type { Log } from "../../shared/log.ts";
import type { SealedSegment } from "./files.ts";
import { readSegment, UnreadableSegmentError } from "./segment-files.ts";

const PUBLISH_TIMEOUT_MS = 5_000;
const BACKOFF = { firstMs: 100, maxMs: 5_000 };

type SenderDeps = {
  nats: Promise<NatsConnection>;
  streamBytesMax: number;
  /** Replicas of the stream, if this process creates it. */
  streamReplicas: number;
  isStopped: () => boolean;
  log: Log;
};

/**
 * Sends a segment repeatedly until it is acknowledged. Returns false if stopped before. Throws
 * {@link UnreadableSegmentError}.
 */
export type SendSegment = (segment: SealedSegment) => Promise<boolean>;

export function createSegmentSender(deps: SenderDeps): SendSegment {
  const { nats, streamBytesMax, streamReplicas, isStopped, log } = deps;
  /** Reused buffers for the contents of segments. */
  const bufferPool: Buffer[] = [];
  let jetStream: Promise<JetStreamClient> | undefined;

  async function openJetStream(): Promise<JetStreamClient> {
    const connection = await nats;
    const manager = await connection.jetstreamManager();
    await ensureClicksStream(manager, streamBytesMax, streamReplicas);
    return connection.jetstream({ timeout: PUBLISH_TIMEOUT_MS });
  }

  return async (segment) => {
    const backoff = new Backoff(BACKOFF.firstMs, BACKOFF.maxMs);
    while (!isStopped()) {
      try {
        jetStream ??= openJetStream();
        const client = await jetStream;
        const buffer = bufferPool.pop() ?? Buffer.allocUnsafeSlow(SEGMENT_BYTES_MAX);
        await client.publish(CLICKS_SUBJECT, readSegment(segment, buffer), {
          msgID: formatSegmentId(segment),
        });
        // Only after the acknowledgement: until then the client may still have to send the buffer.
        bufferPool.push(buffer);
        return true;
      } catch (error) {
        if (error instanceof UnreadableSegmentError) throw error;
        // The stream is missing or full, or NATS is down: the segment is retried under the same id.
        jetStream = undefined;
        log.warn({ error, segment: formatSegmentId(segment) }, "segment_publish_failed");
        await Bun.sleep(backoff.next());
      }
    }
    return false;
  };
}
