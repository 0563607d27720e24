/**
 * Publishes link changes to the redirectors through the links feed (JetStream): directly after each
 * commit, and by a relay that publishes the remaining outbox entries. The version of a subject
 * never decreases.
 */
import { type JetStreamClient, type JetStreamManager, type NatsConnection } from "nats";

import { encodeLinkMessage, type LinkMessage } from "../../shared/contracts/link-record.ts";
import { isInStream, type LinksStream, UNDIVIDED } from "../../shared/contracts/links-streams.ts";
import {
  decodeLinkMessage,
  ensureLinksStream,
  jetStreamErrorCode,
  linkSubject,
  NO_MESSAGE,
  WRONG_LAST_SEQUENCE,
} from "../../shared/contracts/streams.ts";
import type { Log } from "../../shared/log.ts";
import { withTimeout } from "../../shared/timeout.ts";
import type { Sql } from "../postgres.ts";
import { describeOutbox } from "./outbox-warning.ts";
import { publishStates } from "./publish-states.ts";
import { deleteEntries, lockPendingEntries, type OutboxStats, selectOutboxStats } from "./sql.ts";

/** How long a request waits for the feed before it responds with `X-Propagation: pending`. */
const PUBLISH_TIMEOUT_MS = 2_000;

/** Lost races for a subject (another process published first) until the relay retries later. */
const PUBLISH_RACES_MAX = 10;

/** How often the relay polls the outbox. */
const RELAY_INTERVAL_MS = 500;
/** The relay skips more recent entries: the process that wrote them is publishing them. */
const RELAY_AFTER_SECONDS = 1;
const RELAY_BATCH = 200;

export type LinkPublisher = {
  /**
   * Publishes a committed change and deletes its outbox entry; false when the feed is unreachable.
   * `expected` is `absent` for a created link, whose subject is not read first.
   */
  publish(message: LinkMessage, outboxId: number, expected?: "absent"): Promise<boolean>;
  /** As `publish` for many changes, with one outbox statement; false unless all were published. */
  publishMany(
    entries: readonly { message: LinkMessage; outboxId: number }[],
    expected?: "absent",
  ): Promise<boolean>;
  /**
   * Publishes link states of a stream that are not in the outbox, several hundred at a time; false
   * unless all were published. `absent` means that the stream probably has none of these links.
   */
  publishStates(
    messages: readonly LinkMessage[],
    absent: boolean,
    stream: LinksStream,
  ): Promise<boolean>;
  /** Whether the streams have been opened since the start. */
  connected(): boolean;
  /** The highest sequence number that a stream has acknowledged since the last call; 0 for none. */
  takeAcknowledged(stream: LinksStream): number;
  /** Changes that have not been published. */
  outboxStats(): Promise<OutboxStats>;
  /** Warns of link changes that wait too long; undefined for none, or if PostgreSQL is down. */
  outboxWarning(): Promise<string | undefined>;
  stop(): Promise<void>;
};

type LinkPublisherDeps = {
  sql: Sql;
  nats: Promise<NatsConnection>;
  /** The inbox prefix that the connection's user may use; undefined for any. */
  inboxPrefix?: string | undefined;
  /** Replicas of each stream, if this process creates it. */
  streamReplicas: number;
  /** The streams of all feeds that changes are published to. */
  streams?: readonly LinksStream[];
  log: Log;
};

/** Starts the publisher and the outbox relay; both survive outages of NATS. */
export function startLinkPublisher({
  sql,
  nats,
  inboxPrefix,
  streamReplicas,
  streams = [UNDIVIDED],
  log,
}: LinkPublisherDeps): LinkPublisher {
  let jetStream: JetStream | undefined;
  let stopped = false;
  /** Outbox entries that are published but not yet deleted. */
  const published: string[] = [];
  let isDeleting = false;
  /** The highest sequence numbers by the names of streams. */
  const acknowledged = new Map<string, number>();

  const noteAcknowledged = ({ name }: LinksStream, sequence: number): void =>
    void acknowledged.set(name, Math.max(acknowledged.get(name) ?? 0, sequence));

  /** Publishes a message to each stream that holds its link. */
  async function publishNow(
    connection: JetStream,
    message: LinkMessage,
    expected?: "absent",
    targets = streams.filter((stream) => isInStream(stream, message)),
  ): Promise<void> {
    const publishing = targets.map(async (stream) =>
      noteAcknowledged(stream, await publishIfNewer(connection, stream, message, expected)),
    );
    await Promise.all(publishing);
  }

  async function openStream(): Promise<void> {
    const connection = await nats;
    while (!stopped) {
      try {
        const manager = await connection.jetstreamManager({ timeout: PUBLISH_TIMEOUT_MS });
        for (const stream of streams) await ensureLinksStream(manager, streamReplicas, stream);
        jetStream = { client: connection.jetstream({ timeout: PUBLISH_TIMEOUT_MS }), manager };
        return;
      } catch (error) {
        log.warn({ error }, "links_stream_unavailable");
        await Bun.sleep(RELAY_INTERVAL_MS);
      }
    }
  }

  async function publish(
    message: LinkMessage,
    outboxId: number,
    expected?: "absent",
  ): Promise<boolean> {
    if (jetStream === undefined) return false;
    try {
      // Takes several attempts when other messages come first. A late attempt is harmless.
      await withTimeout(publishNow(jetStream, message, expected), PUBLISH_TIMEOUT_MS);
    } catch (error) {
      log.warn({ error, version: message.version }, "link_publish_failed");
      return false;
    }
    published.push(String(outboxId));
    void deletePublished();
    return true;
  }

  /**
   * Deletes published entries, one statement at a time. Requests do not wait for this: publishing a
   * leftover entry again has no effect.
   */
  async function deletePublished(): Promise<void> {
    if (isDeleting) return;
    isDeleting = true;
    while (published.length > 0) {
      await deleteEntries(sql, published.splice(0, RELAY_BATCH)).catch((error: unknown) =>
        log.warn({ error }, "outbox_delete_failed"),
      );
    }
    isDeleting = false;
  }

  async function publishMany(
    entries: readonly { message: LinkMessage; outboxId: number }[],
    expected?: "absent",
  ): Promise<boolean> {
    const connection = jetStream;
    if (connection === undefined) return entries.length === 0;
    const outcomes = await Promise.allSettled(
      entries.map(({ message }) =>
        withTimeout(publishNow(connection, message, expected), PUBLISH_TIMEOUT_MS),
      ),
    );
    const done = entries.filter((_, i) => outcomes[i]?.status === "fulfilled");
    published.push(...done.map(({ outboxId }) => String(outboxId)));
    void deletePublished();
    const failed = entries.length - done.length;
    if (failed > 0) log.warn({ failed }, "link_publish_failed");
    return failed === 0;
  }

  async function publishAll(
    messages: readonly LinkMessage[],
    absent: boolean,
    stream: LinksStream,
  ): Promise<boolean> {
    const opened = jetStream;
    if (opened === undefined) return messages.length === 0;
    const options = { stream, absent, timeoutMs: PUBLISH_TIMEOUT_MS, inboxPrefix };
    const { conflicts, ...outcome } = await publishStates(await nats, messages, options);
    noteAcknowledged(stream, outcome.acknowledged);
    const published = await Promise.allSettled(
      conflicts.map((message) =>
        withTimeout(publishNow(opened, message, undefined, [stream]), PUBLISH_TIMEOUT_MS),
      ),
    );
    const failed = outcome.failed + published.filter(({ status }) => status === "rejected").length;
    if (failed > 0) log.warn({ failed }, "link_publish_failed");
    return failed === 0;
  }

  /** Publishes a batch of outbox entries; returns the batch's size. */
  async function relay(): Promise<number> {
    const connection = jetStream;
    if (connection === undefined) return 0;
    const delivered = await sql.begin(async (transaction) => {
      const entries = await lockPendingEntries(transaction, RELAY_AFTER_SECONDS, RELAY_BATCH);
      if (entries.length === 0) return 0;
      await Promise.all(entries.map(({ record }) => publishNow(connection, record)));
      await deleteEntries(
        transaction,
        entries.map(({ id }) => id),
      );
      return entries.length;
    });
    if (delivered > 0) log.info({ delivered }, "outbox_relayed");
    return delivered;
  }

  async function run(): Promise<void> {
    await openStream();
    while (!stopped) {
      let delivered = 0;
      try {
        delivered = await relay();
      } catch (error) {
        log.warn({ error }, "outbox_relay_failed");
      }
      // After a full batch there may be more entries.
      if (delivered < RELAY_BATCH) await Bun.sleep(RELAY_INTERVAL_MS);
    }
  }

  const running = run();
  return {
    publish,
    publishMany,
    publishStates: publishAll,
    connected: () => jetStream !== undefined,
    takeAcknowledged({ name }) {
      const taken = acknowledged.get(name) ?? 0;
      acknowledged.delete(name);
      return taken;
    },
    outboxStats: () => selectOutboxStats(sql),
    outboxWarning: () => selectOutboxStats(sql).then(describeOutbox, () => undefined),
    async stop() {
      stopped = true;
      // Before the stream is open, the relay has nothing to finish.
      if (jetStream !== undefined) await running;
    },
  };
}

type JetStream = { client: JetStreamClient; manager: JetStreamManager };

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
  const subject = linkSubject(message.domain, message.alias, stream);
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
