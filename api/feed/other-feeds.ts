/** Takes leave of streams of the links feed to which this process does not publish: their number has changed. */
import { ErrorCode, type JetStreamClient, NatsError } from "nats";

import { encodeHeartbeat } from "../../shared/contracts/feed-notices.ts";
import { ALL_LINKS_STREAMS, type LinksStream } from "../../shared/contracts/links-streams.ts";
import { heartbeatSubject } from "../../shared/contracts/streams.ts";
import type { Sql } from "../postgres.ts";
import { type FeedRow, keepFeeds, selectFeeds } from "./sql.ts";

/**
 * Keeps what is known of these streams, and of no others. Each other one says that it lacks links, as it does from now on: no
 * redirector that still follows it takes a link that it lacks for one that does not exist, and who publishes to it again
 * fills it.
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
    if (stream !== undefined) await sayIncomplete(client, stream, feed);
  }
  await keepFeeds(sql, names);
}

async function sayIncomplete(
  client: JetStreamClient,
  stream: LinksStream,
  { epoch, version }: FeedRow,
): Promise<void> {
  try {
    const heartbeat = { complete: false, epoch: epoch ?? 0, version };
    await client.publish(heartbeatSubject(stream), encodeHeartbeat(heartbeat));
  } catch (error) {
    // There is no such stream any more.
    const isGone = error instanceof NatsError && error.code === ErrorCode.NoResponders.toString();
    if (!isGone) throw error;
  }
}
