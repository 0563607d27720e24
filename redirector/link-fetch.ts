/** Reads single messages of the links feed: links that are not cached, and cached ones after the feed was lost. */
import type { Msg, NatsConnection } from "nats";

import type { LinkRecord } from "../shared/contracts/link-record.ts";
import {
  jetStreamErrorCode,
  LINKS_STREAM,
  linkSubject,
  NO_MESSAGE,
} from "../shared/contracts/streams.ts";
import type { Nats } from "../shared/nats.ts";
import { withTimeout } from "../shared/timeout.ts";
import type { FeedRecords } from "./feed-records.ts";

const NOT_FOUND = 404;

const RETRY_MS = 50;

/** A fetch that takes longer fails; the response is then 503. */
const TIMEOUT_MS = 2_000;

/** An attempt that takes longer is repeated: the server that had it may be gone. */
const ATTEMPT_TIMEOUT_MS = 500;

/** A short link has a record that is malformed: whether it exists, and where it leads, is not known. */
export class MalformedRecordError extends Error {
  override name = "MalformedRecordError";
}

/**
 * Fetches the last record of a short link; undefined when there is none. Throws a {@link MalformedRecordError}, or when
 * NATS does not respond in time.
 */
export type FetchLink = (domain: string, alias: string) => Promise<LinkRecord | undefined>;

/** Reads the last message of a subject; undefined when there is none. Throws when NATS does not respond in time. */
export type ReadSubject = (subject: string) => Promise<FeedMessage | undefined>;

export const createLinkFetch =
  (read: ReadSubject, records: Pick<FeedRecords, "read">): FetchLink =>
  async (domain, alias) => {
    const message = await read(linkSubject(domain, alias));
    if (message === undefined) return undefined;
    const record = records.read(message);
    if (record === undefined) throw new MalformedRecordError();
    return record;
  };

/** `replicated` when the stream has several replicas, of which one may be behind. */
export const createSubjectReader =
  (nats: Pick<Nats, "connection" | "connected">, replicated: boolean): ReadSubject =>
  async (subject) => {
    const deadline = Date.now() + TIMEOUT_MS;
    for (;;) {
      const remainingMs = Math.max(1, deadline - Date.now());
      try {
        const connection = await withTimeout(nats.connection, remainingMs);
        // Requests would be kept in memory, without a bound.
        if (!nats.connected()) throw new Error("There is no connection to NATS.");
        const timeout = Math.min(remainingMs, ATTEMPT_TIMEOUT_MS);
        return (
          (await readReplica(connection, subject, timeout)) ??
          (replicated ? await readLeader(connection, subject, timeout) : undefined)
        );
      } catch (error) {
        // A server that has just restarted accepts requests before its streams do.
        if (Date.now() + RETRY_MS >= deadline) throw error;
        await Bun.sleep(RETRY_MS);
      }
    }
  };

/** Reads the last message of a subject by a direct get, which any replica answers. */
async function readReplica(
  connection: NatsConnection,
  subject: string,
  timeout: number,
): Promise<FeedMessage | undefined> {
  const api = `$JS.API.DIRECT.GET.${LINKS_STREAM}.${subject}`;
  const message = await getDirectly(connection, api, undefined, timeout);
  return message && { ...toFeedMessage(message), subject };
}

/** A message of the feed and its position. */
export type FeedMessage = { subject: string; sequence: number; data: Uint8Array };

/**
 * Reads the first message after a position by a direct get. Any replica answers, also while there is no leader that
 * could give a consumer. Returns undefined at the end of that replica.
 */
export async function readNextMessage(
  connection: NatsConnection,
  after: number,
  timeout: number,
): Promise<FeedMessage | undefined> {
  const request = JSON.stringify({ seq: after + 1, next_by_subj: "links.>" });
  const api = `$JS.API.DIRECT.GET.${LINKS_STREAM}`;
  const message = await getDirectly(connection, api, request, timeout);
  return message && toFeedMessage(message);
}

/** The message that a direct get returns; its place in the stream is in headers. */
const toFeedMessage = ({ headers, data }: Msg): FeedMessage => ({
  subject: headers?.get("Nats-Subject") ?? "",
  sequence: Number(headers?.get("Nats-Sequence")),
  data,
});

/** Sends a direct get; undefined when there is no such message. */
async function getDirectly(
  connection: NatsConnection,
  api: string,
  request: string | undefined,
  timeout: number,
): Promise<Msg | undefined> {
  const response = await connection.request(api, request, { timeout });
  // JetStream responds with a status and no data when it has no message.
  const status = response.data.length === 0 ? response.headers?.code : undefined;
  if (status === NOT_FOUND) return undefined;
  if (status !== undefined) throw new Error(`JetStream responded with status ${status}.`);
  return response;
}

/** Asks the leader, which has every acknowledged link. A replica may be behind and not have a new one yet. */
async function readLeader(
  connection: NatsConnection,
  subject: string,
  timeout: number,
): Promise<FeedMessage | undefined> {
  const manager = await connection.jetstreamManager({ timeout, checkAPI: false });
  try {
    const { seq, data } = await manager.streams.getMessage(LINKS_STREAM, { last_by_subj: subject });
    return { subject, sequence: seq, data };
  } catch (error) {
    if (jetStreamErrorCode(error) === NO_MESSAGE) return undefined;
    throw error;
  }
}
