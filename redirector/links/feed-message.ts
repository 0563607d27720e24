/** A message of the links feed, and reading one without a consumer. */
import type { Msg, NatsConnection } from "nats";

import type { LinksStream } from "../../shared/contracts/links-streams.ts";
import { linksSubjects } from "../../shared/contracts/streams.ts";

const NOT_FOUND = 404;

/** A message of the feed and its position. */
export type FeedMessage = { subject: string; sequence: number; data: Uint8Array };

/**
 * Reads the first message after a position by a direct get. Any replica responds, also while no
 * leader can provide a consumer. Returns undefined at the end of that replica.
 */
export async function readNextMessage(
  connection: NatsConnection,
  stream: LinksStream,
  after: number,
  timeout: number,
): Promise<FeedMessage | undefined> {
  const request = JSON.stringify({ seq: after + 1, next_by_subj: linksSubjects(stream) });
  const api = `$JS.API.DIRECT.GET.${stream.name}`;
  const response = await connection.request(api, request, { timeout });
  // JetStream responds with a status and no data when it has no message.
  const status = response.data.length === 0 ? response.headers?.code : undefined;
  if (status === NOT_FOUND) return undefined;
  if (status !== undefined) throw new Error(`JetStream responded with status ${status}.`);
  return toFeedMessage(response);
}

/** The message of a direct get; headers contain its subject and sequence. */
const toFeedMessage = ({ headers, data }: Msg): FeedMessage => ({
  subject: headers?.get("Nats-Subject") ?? "",
  sequence: Number(headers?.get("Nats-Sequence")),
  data,
});
