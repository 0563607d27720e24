/**
 * Retires streams of the links feed that this process does not publish to, after the number of
 * streams has changed.
 */
import { ErrorCode, type JetStreamClient, NatsError } from "nats";

import { encodeHeartbeat } from "../../shared/contracts/feed-notices.ts";
import { ALL_LINKS_STREAMS, type LinksStream } from "../../shared/contracts/links-streams.ts";
import { heartbeatSubject } from "../../shared/contracts/streams.ts";
import type { Sql } from "../postgres.ts";
import { type FeedRow, keepFeeds, selectFeeds } from "./sql.ts";

/**
 * Keeps the records of these streams and removes all others. A last heartbeat in each removed
 * stream reports that it lacks links. So a redirector that still follows it does not treat a
 * missing link as nonexistent, and a process that publishes to it again refills it.
 */
export async function keepStreams(
  sql: Sql,
  client: JetStreamClient,
  streams: readonly LinksStream[],
): Promise<void> {
  const names = streams.map(({ name }) => name);
  const others = (await selectFeeds(sql)).filter(({ name }) => !names.includes(name));
  for (const feed of others) {
    const stream = ALL_LINKS_STREAMS.find(({ name }) => name === feed.name);
    if (stream !== undefined) await publishIncomplete(client, stream, feed);
  }
  await keepFeeds(sql, names);
}

async function publishIncomplete(
  client: JetStreamClient,
  stream: LinksStream,
  { epoch, version }: FeedRow,
): Promise<void> {
  try {
    const heartbeat = { complete: false, epoch: epoch ?? 0, version };
    await client.publish(heartbeatSubject(stream), encodeHeartbeat(heartbeat));
  } catch (error) {
    // The stream no longer exists.
    const isGone = error instanceof NatsError && error.code === ErrorCode.NoResponders.toString();
    if (!isGone) throw error;
  }
}
