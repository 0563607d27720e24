/**
 * Publishes link changes to the redirectors through the links feed (JetStream). A change reaches
 * every redirector in three steps:
 *
 * 1. The transaction that changes a link also adds the link's new state to the table `link_outbox`;
 *    a deletion is a state, too. The state's version is assigned under a lock on the alias, so the
 *    newest state has the highest version.
 * 2. After the commit, the API process publishes the state to the stream `LINKS`. Each short link
 *    has a subject of its own there, of which only the last message is kept. The process waits for
 *    the acknowledgement, not longer than `PUBLISH_TIMEOUT_MS`, and responds. The outbox entry is
 *    deleted in the background. Without an acknowledgement the response has
 *    `X-Propagation: pending`, and the entry stays.
 * 3. On each host one redirector, which holds a lock, follows the stream. It writes every change,
 *    together with the position in the stream, in one transaction to the links store, a SQLite
 *    file. All redirectors of the host look for changes in the store continually, and apply them to
 *    the links in their memory. If the follower dies, another one takes the lock.
 *
 * What can go wrong, and what happens then:
 *
 * - The process dies after the commit, or NATS is down: the entry is still in the outbox. The relay
 *   in every API process publishes entries that others left.
 * - Two processes publish states of one link, in any order: each publication names the sequence
 *   number that it expects to be the subject's last. If another message came first, the versions
 *   are compared, and the older state is dropped. A links store ignores older versions, too.
 * - A host or its network is down: the follower continues at the position in its store.
 * - The stream loses messages: API processes continually compare its creation time, its last
 *   sequence number, its message count and its epoch, which changes each time all links are
 *   published again, with what PostgreSQL has recorded. If the stream was recreated, went back or
 *   shrank, or if PostgreSQL itself was restored from a backup, one process publishes all links
 *   again under a new epoch. Each host then reads the stream from its beginning, and removes links
 *   that are not in it. Meanwhile the links in its store redirect as before.
 *
 * API processes publish heartbeats in the stream. A heartbeat says whether the stream
 * has every link. A redirector responds with 404 for an alias that it cannot find only if the last
 * heartbeat says so. Otherwise it responds with 503, because the link may exist.
 *
 * A large installation divides the feed into several such streams (`LINKS_STREAMS`); each link
 * belongs to one of them.
 */
import type { NatsConnection } from "nats";

import type { LinkMessage } from "../../shared/contracts/link-record.ts";
import { type LinksStream, UNDIVIDED } from "../../shared/contracts/links-streams.ts";
import type { Log } from "../../shared/log.ts";
import { withTimeout } from "../../shared/timeout.ts";
import type { Sql } from "../postgres.ts";
import { createFeedStreams, type FeedStreams, PUBLISH_TIMEOUT_MS } from "./feed-streams.ts";
import { describeOutbox } from "./outbox-warning.ts";
import type { OutboxEntry } from "./outbox.ts";
import { publishStates } from "./publish-states.ts";
import { deleteEntries, lockPendingEntries, type OutboxStats, selectOutboxStats } from "./sql.ts";

/** How often the relay polls the outbox. */
const RELAY_INTERVAL_MS = 500;
/** The relay skips more recent entries: the process that wrote them is publishing them. */
const RELAY_AFTER_SECONDS = 1;
const RELAY_BATCH = 200;

/**
 * Longest silence of NATS while a stream is filled. Nobody waits for these responses, but a fill
 * that is interrupted begins again.
 */
const FILL_TIMEOUT_MS = 30_000;

export type LinkPublisher = {
  /**
   * Publishes committed changes and deletes their outbox entries; false unless all were published.
   * `expected` is `absent` for created links, whose subjects are not read first.
   */
  publish(entries: readonly OutboxEntry[], expected?: "absent"): Promise<boolean>;
  /**
   * Publishes link states of a stream that are not in the outbox, several hundred at a time, for a
   * fill; false unless all were published. `absent` means that the stream probably has none.
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
  const feed = createFeedStreams({ nats, streamReplicas, streams, log });
  const parts = { sql, feed, deletePublished: createOutboxCleanup(sql, log), log };
  let stopped = false;

  async function run(): Promise<void> {
    await feed.open(() => stopped);
    while (!stopped) {
      let delivered = 0;
      try {
        delivered = await relayOutbox(parts);
      } catch (error) {
        log.warn({ error }, "outbox_relay_failed");
      }
      // After a full batch there may be more entries.
      if (delivered < RELAY_BATCH) await Bun.sleep(RELAY_INTERVAL_MS);
    }
  }

  const running = run();
  return {
    publish: (entries, expected) => publishEntries(parts, entries, expected),
    async publishStates(messages, absent, stream) {
      if (!feed.isOpen()) return messages.length === 0;
      const options = { stream, absent, timeoutMs: FILL_TIMEOUT_MS, inboxPrefix };
      return await publishAll(parts, await publishStates(await nats, messages, options), stream);
    },
    connected: feed.isOpen,
    takeAcknowledged: feed.takeAcknowledged,
    outboxStats: () => selectOutboxStats(sql),
    outboxWarning: () => selectOutboxStats(sql).then(describeOutbox, () => undefined),
    async stop() {
      stopped = true;
      // Before the stream is open, the relay has nothing to finish.
      if (feed.isOpen()) await running;
    },
  };
}

type Parts = {
  sql: Sql;
  feed: FeedStreams;
  /** Deletes outbox entries that are published, soon. */
  deletePublished: (outboxIds: readonly number[]) => void;
  log: Log;
};

async function publishEntries(
  { feed, deletePublished, log }: Parts,
  entries: readonly OutboxEntry[],
  expected?: "absent",
): Promise<boolean> {
  if (!feed.isOpen()) return entries.length === 0;
  // Takes several attempts when other messages come first. A late attempt is harmless.
  const outcomes = await Promise.allSettled(
    entries.map(({ message }) => withTimeout(feed.publish(message, expected), PUBLISH_TIMEOUT_MS)),
  );
  deletePublished(
    entries.flatMap(({ outboxId }, i) => (outcomes[i]?.status === "fulfilled" ? outboxId : [])),
  );
  return noFailure(outcomes, log);
}

/** Logs how many were not published, with the first error; true if all were. */
function noFailure(outcomes: readonly PromiseSettledResult<void>[], log: Log, others = 0): boolean {
  const errors = outcomes.flatMap((each): unknown[] =>
    each.status === "rejected" ? [each.reason] : [],
  );
  const failed = errors.length + others;
  if (failed > 0) log.warn({ error: errors[0], failed }, "link_publish_failed");
  return failed === 0;
}

/**
 * Publishes the states that another publisher changed meanwhile, one by one; false if any state is
 * not published.
 */
async function publishAll(
  { feed, log }: Parts,
  { conflicts, ...outcome }: Awaited<ReturnType<typeof publishStates>>,
  stream: LinksStream,
): Promise<boolean> {
  feed.onAcknowledged(stream, outcome.acknowledged);
  const published = await Promise.allSettled(
    conflicts.map((message) =>
      withTimeout(feed.publish(message, undefined, [stream]), FILL_TIMEOUT_MS),
    ),
  );
  return noFailure(published, log, outcome.failed);
}

/**
 * Deletes published entries, one statement at a time. Requests do not wait for this: publishing a
 * leftover entry again has no effect.
 */
function createOutboxCleanup(sql: Sql, log: Log): Parts["deletePublished"] {
  /** Outbox entries that are published but not yet deleted. */
  const published: string[] = [];
  let isDeleting = false;

  async function deleteAll(): Promise<void> {
    if (isDeleting) return;
    isDeleting = true;
    while (published.length > 0) {
      await deleteEntries(sql, published.splice(0, RELAY_BATCH)).catch((error: unknown) =>
        log.warn({ error }, "outbox_delete_failed"),
      );
    }
    isDeleting = false;
  }

  return (outboxIds) => {
    published.push(...outboxIds.map(String));
    void deleteAll();
  };
}

/** Publishes a batch of outbox entries; returns the batch's size. */
async function relayOutbox({ sql, feed, log }: Parts): Promise<number> {
  if (!feed.isOpen()) return 0;
  const delivered = await sql.begin(async (transaction) => {
    const entries = await lockPendingEntries(transaction, RELAY_AFTER_SECONDS, RELAY_BATCH);
    if (entries.length === 0) return 0;
    await Promise.all(entries.map(({ record }) => feed.publish(record)));
    await deleteEntries(
      transaction,
      entries.map(({ id }) => id),
    );
    return entries.length;
  });
  if (delivered > 0) log.info({ delivered }, "outbox_relayed");
  return delivered;
}
